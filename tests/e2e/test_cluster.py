"""The same commands on a running Ray cluster, by its address."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture(scope="module")
def head():
    """A Ray head of its own: its address, and that of its dashboard."""
    port, dashboard = _free_port(), _free_port()
    ray = Path(sys.executable).parent / "ray"
    options = ["--head", "--block", f"--port={port}", "--num-cpus=4", f"--dashboard-port={dashboard}"]
    head = subprocess.Popen(
        [ray, "start", *options, "--node-ip-address=127.0.0.1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A job runs the `python` that comes first.
        env={**os.environ, "PATH": f"{ray.parent}{os.pathsep}{os.environ['PATH']}"},
    )
    deadline = time.monotonic() + 60
    while not (_listens(port) and _listens(dashboard)) and time.monotonic() < deadline:
        time.sleep(0.2)
    yield f"127.0.0.1:{port}", f"http://127.0.0.1:{dashboard}"
    os.killpg(head.pid, signal.SIGTERM)
    head.wait(timeout=60)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run(cwd: Path, *arguments: str) -> dict:
    done = subprocess.run(
        [sys.executable, "-m", "prefdex_builder", *arguments, "--json"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_build_on_a_cluster_equals_one_on_a_local_ray(head: tuple[str, str], tmp_path: Path) -> None:
    rows = [{"id": str(n), "title": f"T{n}", "text": f"People like tea for reason {n}."} for n in range(300)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "preferences.jsonl").write_text('{"user": "u-1", "preferences": ["People like tea"]}')
    _run(tmp_path, "keys", "init", "keys")
    shards = {}
    for name, options in {"cluster": ["--address", head[0], "--workers", "2"], "local": []}.items():
        common = ["-w", name, "-e", "hashing:", *options]
        assert _run(tmp_path, "corpus", "add", "corpus.jsonl", *common)["chunks"] == 300
        build = ["build", *common, "--preferences", "preferences.jsonl", "--keys", "keys"]
        assert _run(tmp_path, *build)["entries"] == 300
        shards[name] = {path.name: path.read_bytes() for path in (tmp_path / name / "shards").glob("*.shard")}
    assert shards["cluster"] == shards["local"]
    assert len(shards["local"]) == 1


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}", "nonsense", "127.0.0.1:x"])
def test_a_cluster_that_is_not_there(address: str, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"text": "a"}')
    arguments = ["corpus", "add", "corpus.jsonl", "-w", "w", "-e", "hashing:"]
    done = subprocess.run(
        [sys.executable, "-m", "prefdex_builder", *arguments, "--address", address.format(port=_free_port())],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert [line[:6] for line in done.stderr.splitlines()] == ["error:", "  try:"]


def test_a_build_is_handed_to_a_cluster(head: tuple[str, str], tmp_path: Path) -> None:
    rows = [{"id": str(n), "title": f"T{n}", "text": f"People like tea for reason {n}."} for n in range(50)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "preferences.jsonl").write_text('{"user": "u-1", "preferences": ["People like tea"]}')
    # The job runs in another folder: the file's own paths are relative to it.
    places = {"workspace": "work", "preferences": "preferences.jsonl", "keys": "keys"}
    lines = [f'{key} = "{value}"' for key, value in places.items()]
    lines += ['encoder = "hashing:"', 'sources = ["corpus.jsonl"]']
    (tmp_path / "prefdex.toml").write_text("\n".join(lines))
    _run(tmp_path, "keys", "init", "keys")
    command = [sys.executable, "-m", "prefdex_builder", "submit", "--dashboard", head[1], "--json"]
    config = str(tmp_path / "prefdex.toml")
    done = subprocess.run([*command, "build", "-c", config], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["result"]["entries"] == 50
    assert report["job"] in done.stderr
    assert '"stage": "embed"' in done.stderr
    assert (tmp_path / "work/users/u-1/1.pdx").exists()
    failed = subprocess.run([*command, "build", "-c", "nowhere.toml"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "ended as failed" in failed.stderr
    assert "nowhere.toml" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dashboard", "http://127.0.0.1:{port}", "build"], "No job can be submitted at"),
        (["--dashboard", "nonsense", "build"], "No job can be submitted at nonsense"),
        ([], "Nothing says what to run"),
        (["demo"], "Nothing says what to run"),
    ],
)
def test_what_cannot_be_submitted(arguments: list[str], message: str) -> None:
    filled = [each.format(port=_free_port()) for each in arguments]
    command = [sys.executable, "-m", "prefdex_builder", "submit", *filled]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert [line[:6] for line in done.stderr.splitlines()] == ["error:", "  try:"]
    assert message in done.stderr
