"""The `prefdex` command as a user runs it: in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prefdex_client import DeviceStore, apply_patch
from prefdex_shared import container
from support.bundles import AUDIENCE, CONTENT, Publisher, entry, parts

pytestmark = pytest.mark.ray

PREFDEX = [sys.executable, "-m", "prefdex_builder"]
COMMANDS = [
    ["demo"],
    ["build"],
    ["inspect"],
    ["patch"],
    ["query"],
    ["plan"],
    ["calibrate"],
    ["submit"],
    ["corpus", "add"],
    ["corpus", "remove"],
    ["encoder", "export"],
    ["keys", "init"],
]


def run(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PREFDEX, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)


def last_json(done: subprocess.CompletedProcess[str]) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_an_example(command: list[str], tmp_path: Path) -> None:
    done = run(*command, "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert f"Example: prefdex {' '.join(command)}" in done.stdout
    assert "--json" in done.stdout


def _prepare(folder: Path, n: int = 30) -> None:
    rows = [{"id": f"d{i}", "title": f"T{i}", "text": f"People like tea for reason {i} [b]."} for i in range(n)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    users = [{"user": "u-1", "preferences": ["People like tea"]}, {"user": "u-2", "preferences": []}]
    (folder / "preferences.jsonl").write_text("\n".join(map(json.dumps, users)))


BUILD = ["build", "-w", "work", "-e", "hashing:", "--preferences", "preferences.jsonl", "--keys", "keys", "--json"]


def test_from_keys_to_answers(tmp_path: Path) -> None:
    _prepare(tmp_path)
    keys = last_json(run("keys", "init", "keys", "--json", cwd=tmp_path))
    assert keys["keep_offline"] == "keys/root.pem"
    added = last_json(run("corpus", "add", "corpus.jsonl", "-w", "work", "-e", "hashing:", "--json", cwd=tmp_path))
    assert (added["documents"], added["faults"]) == (30, {})
    built = last_json(run(*BUILD, cwd=tmp_path))
    assert built["entries"] == 30
    assert [user["version"] for user in built["users"]] == [1, 1]
    again = run(*BUILD[:-1], cwd=tmp_path)
    assert "u-1: version 1 (unchanged)" in again.stdout

    bundle = Path(built["users"][0]["path"])
    trusted = ["--trust", "keys/root.json", "--audience", "u-1"]
    described = last_json(run("inspect", bundle, *trusted, "--json", cwd=tmp_path))
    assert [shard["n_entries"] for shard in described["shards"]] == [30]
    assert "People like tea" in run("inspect", bundle, *trusted, cwd=tmp_path).stdout
    verified = run("inspect", bundle, *trusted, "--verify-only", cwd=tmp_path)
    assert verified.stdout.startswith("verified: version 1 for u-1, valid until ")
    assert last_json(run("inspect", bundle, *trusted, "--verify-only", "--json", cwd=tmp_path))["stale"] is False
    answer = last_json(run("query", bundle, "tea?", *trusted, "-e", "hashing:", "-k", 3, "--json", cwd=tmp_path))
    assert len(answer["answers"][0]["hits"]) == 3
    plain = run("query", bundle, "tea?", "more tea?", *trusted, "-e", "hashing:", "--unsteered", cwd=tmp_path)
    assert "more tea?\n" in plain.stdout


def test_changes_of_a_device_are_built_for(tmp_path: Path) -> None:
    _prepare(tmp_path)
    last_json(run("keys", "init", "keys", "--json", cwd=tmp_path))
    last_json(run("corpus", "add", "corpus.jsonl", "-w", "work", "-e", "hashing:", "--json", cwd=tmp_path))
    built = last_json(run(*BUILD, cwd=tmp_path))
    trust = tmp_path / "keys" / "root.json"
    store = DeviceStore.open(tmp_path / "store", trust=trust, audience="u-1", encoder="hashing:")
    store.apply(built["users"][0]["path"])
    store.forget("People like tea")
    store.add_preference("tea for reason 7")
    (tmp_path / "changes.jsonl").write_text(store.changes().to_json() + "\n")
    again = last_json(run(*BUILD, "--changes", "changes.jsonl", cwd=tmp_path))
    assert [user["is_new"] for user in again["users"]] == [True, False]
    store.apply(again["users"][0]["path"])
    assert [(each.text, each.origin) for each in store.memory().preferences] == [("tea for reason 7", "signed")]
    assert (store.changes().add, store.changes().forget) == ((), ())
    (tmp_path / "changes.jsonl").write_text(store.changes().to_json().replace("u-1", "u-9"))
    refused = run(*BUILD, "--changes", "changes.jsonl", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("error: The changes name user u-9, for whom there are no preferences.\n")


def test_patch(tmp_path: Path) -> None:
    publisher = Publisher()
    (tmp_path / "root.json").write_bytes(publisher.trust)
    for version, content in enumerate((CONTENT, {**CONTENT, "I like sleep": [entry("Sleep is long.")]}), 1):
        (tmp_path / f"{version}.pdx").write_bytes(publisher.bundle(content, version=version))
    report = last_json(run("patch", "1.pdx", "2.pdx", "--trust", "root.json", "--json", cwd=tmp_path))
    assert (report["path"], report["from_version"], report["to_version"]) == ("u-1-1-to-2.pdx", 1, 2)
    assert (sorted(report["files"]), report["roots"]) == (["manifest", "s3"], 0)
    patch, new = tmp_path / report["path"], (tmp_path / "2.pdx").read_bytes()
    assert (patch.stat().st_size, len(new)) == (report["patch_bytes"], report["bundle_bytes"])
    patched = tmp_path / "patched.pdx"
    apply_patch(tmp_path / "1.pdx", patch, patched, trust=publisher.trust, audience=AUDIENCE)
    assert patched.read_bytes() == new
    shown = run("patch", "1.pdx", "2.pdx", "-o", "other.pdx", cwd=tmp_path)
    assert shown.returncode == 0
    assert shown.stdout.startswith("other.pdx: version 1 to 2 of u-1\n")
    assert (tmp_path / "other.pdx").read_bytes() == patch.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["2.pdx", "1.pdx"], "error: The new bundle is of version 1, and the old one of 2."),
        (["1.pdx", "1.pdx"], "error: The new bundle is of version 1, and the old one of 1."),
        (["1.pdx", "theirs.pdx"], "error: The two bundles are for different users."),
        (["1.pdx", "2.pdx", "-o", "2.pdx"], "error: 2.pdx is one of the two bundles."),
        (["1.pdx", "2.pdx", "-o", "no/where.pdx"], "error: no/where.pdx cannot be written"),
        (["1.pdx", "2.pdx", "--trust", "stranger.json"], "error: targets: not signed by enough keys"),
        (["1.pdx", "damaged.pdx"], "error: File 's0' differs from its signed hash."),
        (["1.pdx", "root.json"], "error: container: "),
        (["1.pdx", "nowhere.pdx"], "error: The bundle nowhere.pdx cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_patches_that_are_not_made(arguments: list[str], message: str, tmp_path: Path) -> None:
    publisher = Publisher()
    held = parts(publisher.bundle(CONTENT, version=3))
    files = {
        "root.json": publisher.trust,
        "stranger.json": Publisher(first=40).trust,
        "1.pdx": publisher.bundle(CONTENT),
        "2.pdx": publisher.bundle(CONTENT, version=2),
        "theirs.pdx": publisher.bundle(CONTENT, version=2, audience="u-2"),
        "damaged.pdx": container.encode(container.Container((), held.targets, {**held.files, "s0": b"x"})),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = run("patch", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    first, second = done.stderr.splitlines()
    assert first.startswith(message)
    assert second.startswith("  try: ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["keys", "init", "."], "error: . exists already"),
        (["build"], "error: Nothing says where to find 'preferences'."),
        (["corpus", "remove", "d"], "error: Nothing says where to find 'workspace'."),
        (["corpus", "add"], "error: Nothing says what to add."),
        (["corpus", "add", "nowhere", "-w", "w", "-e", "hashing:"], "error: There is no file at nowhere."),
        (["corpus", "add", ".", "-w", "w", "-e", "nowhere"], "error: There is no encoder folder at nowhere"),
        (["encoder", "export", ".", "out"], "error: "),
        (["encoder", "export", "nowhere/at/all", "out"], "error: nowhere/at/all is no sentence-transformers model"),
        (
            ["build", "-w", "w", "-e", "hashing:", "--preferences", "no", "--keys", "no"],
            "error: The preferences no cannot",
        ),
        (["inspect", "no.pdx", "--trust", "no", "--audience", "u"], "error: The bundle no.pdx cannot be read"),
        (
            ["query", "no.pdx", "q", "--trust", "no", "--audience", "u", "-e", "hashing:"],
            "error: The bundle no.pdx cannot",
        ),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_errors_are_two_lines(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith(message)
    assert lines[1].startswith("  try: ")


@pytest.mark.parametrize("arguments", [["no-such-command"], ["build", "--tau"], ["query", "--k"]], ids=" ".join)
def test_wrong_arguments_exit_with_2(arguments: list[str], tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_an_interrupt_leaves_things_whole(tmp_path: Path) -> None:
    _prepare(tmp_path, n=3_000)
    last_json(run("keys", "init", "keys", "--json", cwd=tmp_path))
    add = ["corpus", "add", "corpus.jsonl", "-w", "work", "-e", "hashing:", "--json"]
    process = subprocess.Popen(
        [*PREFDEX, *add], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    _wait_for(tmp_path / "work", process)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=600)
    if process.returncode != 0:  # it may have been done just before
        assert process.returncode == 130
        assert "Traceback" not in stderr
        assert "interrupted; what was finished is kept" in stderr
    assert last_json(run(*add, cwd=tmp_path))["documents"] == 3_000
    assert last_json(run(*BUILD, cwd=tmp_path))["chunks"] == 3_000


def _wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists() and process.poll() is None:
        time.sleep(0.05)


@pytest.mark.soak  # Ray's agents look for their parent about once a minute
def test_a_killed_build_leaves_no_processes(tmp_path: Path) -> None:
    _prepare(tmp_path)
    process = subprocess.Popen(
        [*PREFDEX, "corpus", "add", "corpus.jsonl", "-w", "work", "-e", "hashing:"],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PREFDEX_TEST_MARK": str(tmp_path)},
    )
    _wait_for(tmp_path / "work", process)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 180
    while (left := _marked(str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left == []


def _marked(mark: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"PREFDEX_TEST_MARK={mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " ")[:80])
        except OSError:
            continue
    return found
