"""`prefdex demo`, killed at any moment and run again, goes on and ends with the same result."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow]

_N_DOCUMENTS = 300


def _start(folder: Path) -> subprocess.Popen[str]:
    arguments = ["demo", "--folder", str(folder), "--documents", str(_N_DOCUMENTS), "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "prefdex_builder", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _finish(folder: Path) -> tuple[dict, str]:
    process = _start(folder)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    result = json.loads(output.splitlines()[-1])
    del result["seconds"]
    return result, output


def _shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("workspace-*/shards/*.shard")}


def _link_wheels(folder: Path, source: Path) -> Path:
    (folder / "wheels").mkdir(parents=True)
    for wheel in source.glob("*.whl"):
        os.link(wheel, folder / "wheels" / wheel.name)
    return folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, str, float]:
    """A demo that ran at once, with its duration."""
    folder = tmp_path_factory.mktemp("undisturbed")
    _finish(folder)  # fetches the wheels
    again = _link_wheels(tmp_path_factory.mktemp("timed"), folder / "wheels")
    started = time.monotonic()
    result, output = _finish(again)
    return again, result, output, time.monotonic() - started


def test_what_the_demo_shows(undisturbed: tuple[Path, dict, str, float]) -> None:
    folder, result, output, _ = undisturbed
    assert result["documents"] == _N_DOCUMENTS
    assert result["candidates"] >= result["kept"] >= result["entries"] > 0
    assert [bundle["preferences"] for bundle in result["bundles"]] == [10, 10, 10]
    assert all(0 < bundle["bytes"] < result["full_index_bytes"] / 2 for bundle in result["bundles"])
    assert result["patched_equals_fresh"] is True
    assert result["patch_bytes"] < result["bundles"][0]["bytes"] / 2
    assert len(result["hits"]) == 6
    assert any(hits["steered"] != hits["unsteered"] for hits in result["hits"])
    for wanted in ("as it is asked", "steered by the preferences", "after the patch", "CC BY-SA 4.0", "extractive"):
        assert wanted in output
    assert (folder / "keys" / "root.json").exists()


def test_run_again_it_ends_with_the_same(undisturbed: tuple[Path, dict, str, float]) -> None:
    folder, result, _, _ = undisturbed
    before = _shards(folder)
    assert _finish(folder)[0] == result
    assert _shards(folder) == before


@pytest.mark.parametrize("n_kills", [pytest.param(3, id="short"), pytest.param(20, marks=pytest.mark.soak, id="long")])
def test_killed_and_run_again_it_ends_with_the_same(
    n_kills: int, undisturbed: tuple[Path, dict, str, float], tmp_path: Path
) -> None:
    finished, result, _, seconds = undisturbed
    folder = _link_wheels(tmp_path / "killed", finished / "wheels")
    rng = random.Random(n_kills)
    for _ in range(n_kills):
        process = _start(folder)
        try:
            process.wait(timeout=rng.uniform(0.2, 1.0) * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        process.stderr.close()
    assert _finish(folder)[0] == result
    assert _shards(folder) == _shards(finished)
