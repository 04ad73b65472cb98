"""A workspace in a folder and one in a bucket: the same suite over both. The bucket is on a local S3 server."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import boto3
import pytest

from prefdex_builder.cluster import Session
from prefdex_builder.workspace import Storage, Workspace, bucket
from prefdex_builder.workspace.lease import LOCK_FILE, Holder
from prefdex_shared.errors import BuildError, ConfigurationError, FormatError
from support.place import InlineSession, Place

PREFERENCES = {"u-1": ["I like tea", "I like dogs"], "u-2": ["I like tea"]}


@pytest.fixture(params=["folder", "bucket"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "workspace")
    request.getfixturevalue("s3_server")
    boto3.client("s3").create_bucket(Bucket="work")
    return "s3://work/deep/er"


@pytest.fixture
def storage(location: str) -> Storage:
    return Storage.at(location)


def test_files(storage: Storage) -> None:
    deep = storage.folder("a").folder("b")
    assert (deep.names(".json"), deep.exists("x.json")) == ([], False)
    deep.write_json("x.json", {"n": 1})
    deep.write("y.bin", b"1")
    deep.write("y.bin", b"22")
    deep.folder("deeper").write("z.json", b"{}")
    assert (deep.names(".json"), deep.names(".bin")) == (["x.json"], ["y.bin"])
    assert (deep.read_json("x.json"), deep.read("y.bin"), deep.exists("x.json")) == ({"n": 1}, b"22", True)
    deep.remove("x.json")
    deep.remove("x.json")
    assert deep.names(".json") == []
    assert deep.location("y.bin").endswith("a/b/y.bin")
    for name in ("x.json", "y.bin"):
        with pytest.raises(FormatError, match=f"{name} of the workspace cannot be read"):
            deep.read_json(name)


def test_many_names(storage: Storage) -> None:
    """More than a store lists at once."""
    for number in range(1_050):
        storage.write(f"{number}.x", b"")
    assert len(storage.names(".x")) == 1_050


def test_one_build_at_a_time(location: str) -> None:
    workspace = Workspace.at(location)
    with workspace.locked() as lease:
        lease.check()
        with pytest.raises(ConfigurationError, match=r"Process \d+ on .* works on") as raised, workspace.locked():
            pass
        assert "Wait until it is done" in raised.value.hint
    with workspace.locked():
        pass


def test_of_many_at_once_one_has_it(location: str) -> None:
    """Put-if-absent where the store honours it; a look afterwards where it does not."""
    start, held, refused = threading.Barrier(6), [], []
    done = threading.Event()

    def work() -> None:
        start.wait()
        try:
            with Workspace.at(location).locked():
                held.append(1)
                done.wait(20)
        except ConfigurationError:
            refused.append(1)
        if len(refused) == 5:
            done.set()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(held), len(refused)) == (1, 5)


def test_the_dead_hold_nothing(location: str) -> None:
    program = (
        "import os, sys\nfrom prefdex_builder.workspace import Workspace\n"
        f"with Workspace.at({location!r}).locked():\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    workspace = Workspace.at(location)
    if location.startswith("s3://"):
        with pytest.raises(ConfigurationError, match="works on"), workspace.locked():
            pass
        _age(workspace.storage, bucket.LEASE_S + 1)
    with workspace.locked() as lease:
        lease.check()


def _age(storage: Storage, seconds: float) -> None:
    fields = storage.read_json(LOCK_FILE)
    then = datetime.now(timezone.utc) - timedelta(seconds=seconds)
    storage.write_json(LOCK_FILE, {**fields, "since": then.isoformat()})


def test_a_lease_that_was_lost(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    boto3.client("s3").create_bucket(Bucket="work")
    workspace = Workspace.at("s3://work")
    monkeypatch.setattr(bucket, "LEASE_S", 0.4)
    with workspace.locked() as lease:
        workspace.storage.write_json(LOCK_FILE, Holder.now("another").to_dict())
        assert lease.lost.wait(5)
        with pytest.raises(BuildError, match="another one took it"):
            lease.check()
    # It is the other one's now.
    assert workspace.storage.read_json(LOCK_FILE)["token"] == "another"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"host": 1}', b"\xff"])
def test_a_damaged_lock_is_nobodys(s3_server: str, content: bytes) -> None:
    boto3.client("s3").create_bucket(Bucket="work")
    workspace = Workspace.at("s3://work")
    workspace.storage.write(LOCK_FILE, content)
    with workspace.locked():
        assert workspace.storage.read_json(LOCK_FILE)["process"]


def test_a_bucket_that_refuses(s3_server: str) -> None:
    with pytest.raises(ConfigurationError, match=r"s3://nowhere/.* cannot be .*: NoSuchBucket") as raised:
        Workspace.at("s3://nowhere").storage.write("a", b"")
    assert "credentials" in raised.value.hint
    with pytest.raises(ConfigurationError, match="not an address in S3"):
        Workspace.at("s3://")


def test_a_build(location: str, tmp_path: Path) -> None:
    """The same files come to be in a folder and in a bucket."""
    places = [
        Place(tmp_path / name, InlineSession(random.Random(1)), where)
        for name, where in (("here", location), ("plain", None))
    ]
    reports = []
    for place in places:
        place.add([{"id": str(n), "title": "t", "text": f"I like {'tea' if n % 2 else 'dogs'} {n}"} for n in range(40)])
        place.build(PREFERENCES)
        place.remove("3", "4")
        reports.append(place.build(PREFERENCES))
    shards = [sorted(place.workspace.shards.storage.names(".shard")) for place in places]
    assert shards[0] == shards[1]
    assert len(shards[0]) == 4
    assert reports[0].users[0].path.startswith(location)
    assert places[0].workspace.storage.read("report.html").startswith(b"<!doctype html>")
    again = places[0].build(PREFERENCES)
    assert (again.llm_calls, again.shards_built, [each.is_new for each in again.users]) == (0, 0, [False, False])


@pytest.mark.ray
def test_workers_reach_the_bucket(s3_server: str, tmp_path: Path, session: Session) -> None:
    boto3.client("s3").create_bucket(Bucket="work")
    rows = [{"id": str(n), "title": "t", "text": f"I like tea {n}"} for n in range(30)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "preferences.jsonl").write_text('{"user": "u-1", "preferences": ["I like tea"]}')
    common = ["-w", "s3://work/x", "-e", "hashing:", "--json"]
    for command in (
        ["keys", "init", "keys"],
        ["corpus", "add", "corpus.jsonl", *common],
        ["build", "--preferences", "preferences.jsonl", "--keys", "keys", "--llm", "fake:", *common],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "prefdex_builder", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["users"][0]["path"] == "s3://work/x/users/u-1/1.pdx"
