"""Every example runs as its own first lines say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.bundles import AUDIENCE, CONTENT, Publisher

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def given(tmp_path: Path, publisher: Publisher) -> list[str]:
    (tmp_path / "me.pdx").write_bytes(publisher.bundle(CONTENT))
    (tmp_path / "root.json").write_bytes(publisher.trust)
    return [str(tmp_path / "me.pdx"), str(tmp_path / "root.json"), "hashing:", AUDIENCE]


def _run(name: str, *arguments: object, asked: str = "") -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", *map(str, arguments)],
        input=asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ask(given: list[str]) -> None:
    printed = _run("ask", *given, "who likes tea")
    assert "for: I like tea" in printed
    assert "[1] Title of" in printed


def test_preferences(given: list[str], tmp_path: Path) -> None:
    printed = _run("preferences", tmp_path / "store", *given, "I like herbs on the sill", "I like trains")
    lines = printed.splitlines()
    assert lines[0] == "version 1"
    assert any(line.startswith("pending") and line.endswith("I like herbs on the sill") for line in lines)
    assert not any("I like trains" in line for line in lines)
    changes = json.loads(lines[-1])
    assert (changes["add"], len(changes["forget"])) == (["I like herbs on the sill"], 1)


@pytest.mark.llm
def test_chat(given: list[str], smollm: Path) -> None:
    """Against llama.cpp's own server; the model's words prove plumbing only."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(smollm)
    params.n_ctx, params.n_parallel, params.verbosity = 2_048, 1, -1
    server = xllamacpp.Server(params)
    printed = _run("chat", *given, f"{server.listening_address}/v1", "smollm", asked="Who likes tea?\n\n")
    assert printed.startswith("Ask, and end with an empty line.\n")
    assert len(printed.splitlines()) >= 2


def test_there_is_a_test_for_each() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"ask", "preferences", "chat"}
