"""Every command of the README runs, in the order in which it stands there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# CI runs these themselves.
MAKE = {"make demo", "make test"}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def _commands() -> list[str]:
    return [line for block in _blocks("sh") for line in block.splitlines() if line.strip()]


def test_commands_and_example(tmp_path: Path, minilm_source: Path) -> None:
    shutil.copytree(minilm_source, tmp_path / "all-MiniLM-L6-v2")
    (tmp_path / "articles").mkdir()
    texts = ["Cook the beans with tomatoes and herbs for a vegetarian stew.", "The night train crosses the Alps."]
    rows = [{"id": str(number), "title": f"T{number}", "text": text} for number, text in enumerate(texts)]
    (tmp_path / "articles" / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    [preferences] = _blocks("json")
    (tmp_path / "preferences.jsonl").write_text(preferences)
    [settings] = _blocks("toml")
    (tmp_path / "prefdex.toml").write_text(settings)
    user = json.loads(preferences)
    (tmp_path / "changed.jsonl").write_text(json.dumps(user | {"preferences": [*user["preferences"], "I like herbs."]}))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ran = []
    for line in _commands():
        if line in MAKE:
            continue
        done = subprocess.run(
            shlex.split(line),
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        ran.append(line.split()[0])
    assert ran.count("prefdex") >= 5
    assert ran.count("prefdex-client") >= 2

    [example] = _blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", example + "print(prompt)"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "vegetarian stew" in done.stdout


def test_ci_runs_the_make_commands() -> None:
    assert set(_commands()) >= MAKE
    script = (ROOT / ".ci" / "run").read_text()
    assert all(command in script for command in MAKE)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target


def test_every_extra_is_in_the_table() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    extras = re.findall(r"^(\S+) = \[", section, re.MULTILINE)
    assert extras
    table = {
        name for row in re.findall(r"^\| (`[^|]+) \|", README, re.MULTILINE) for name in re.findall(r"`(.+?)`", row)
    }
    assert set(extras) <= table
