"""A build of which something is killed ends, at the latest when it is run again, with the bytes of one left alone.

The language model is a server in this process, which counts: of the calls that were finished, under 2 % are repeated
(the kind of NVIDIA-NeMo/Curator 1668). Chunks and shards are there once (ray 60983).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import boto3
import psutil
import pytest

from prefdex_builder.workspace import Workspace
from support.llm_server import CountingLLM, serve

pytestmark = [pytest.mark.ray, pytest.mark.slow]

N_DOCUMENTS, N_PREFERENCES = 400, 4
MAX_REPEATED_SHARE = 0.02
ROUNDS = [pytest.param(3, id="short"), pytest.param(20, id="long", marks=pytest.mark.soak)]


@pytest.fixture
def llm() -> Iterator[CountingLLM]:
    with serve(seconds=0.003) as llm:
        yield llm


@dataclass(frozen=True)
class World:
    """A corpus that is added, and what a build that is left alone makes of it.

    Attributes:
        folder: Holds the workspace `added`, preferences and keys.
        shards: The shards.
    """

    folder: Path
    shards: dict[str, bytes]

    def workspace(self, name: str) -> str:
        """Make a workspace in which nothing is built."""
        shutil.copytree(self.folder / "added", self.folder / name)
        return name


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    rows = [{"id": str(n), "title": f"T{n}", "text": f"People like tea for reason {n}."} for n in range(N_DOCUMENTS)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    preferences = [f"People like tea for {n} reasons" for n in range(N_PREFERENCES)]
    (folder / "preferences.jsonl").write_text(json.dumps({"user": "u-1", "preferences": preferences}))
    _finish(_start(folder, "keys", "init", "keys"))
    _add(folder, "added")
    world = World(folder, {})
    with serve() as llm:
        report = _finish(_build(folder, world.workspace("undisturbed"), llm))
        assert (report["candidates"], report["failed"]) == (N_DOCUMENTS * N_PREFERENCES, {})
        assert llm.n_repeated == 0
    return World(folder, _shards(folder / "undisturbed"))


def _start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "prefdex_builder", *arguments, "--json"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _finish(process: subprocess.Popen[str]) -> dict:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


def _add(folder: Path, workspace: str, *options: str) -> None:
    _finish(_start(folder, "corpus", "add", "corpus.jsonl", "-w", workspace, "-e", "hashing:", *options))


def _build(folder: Path, workspace: str, llm: CountingLLM, *options: str) -> subprocess.Popen[str]:
    places = ["-w", workspace, "-e", "hashing:", "--preferences", "preferences.jsonl", "--keys", "keys"]
    return _start(folder, "build", *places, "--llm", llm.address, "--workers", "2", *options)


def _shards(location: str | Path) -> dict[str, bytes]:
    storage = Workspace.at(location).shards.storage
    return {name: storage.read(name) for name in storage.names(".shard")}


@pytest.mark.parametrize("n_rounds", ROUNDS)
def test_the_driver_or_a_worker_killed(world: World, llm: CountingLLM, n_rounds: int) -> None:
    """Without its driver a build ends, and is run again; without a worker it goes on by itself."""
    rng = random.Random(4)
    n_calls = int(1.5 * N_DOCUMENTS * N_PREFERENCES)
    for number in range(n_rounds):
        llm.answered.clear()
        workspace = world.workspace(f"killed-{n_rounds}-{number}")
        process = _build(world.folder, workspace, llm)
        llm.wait_for(rng.randint(1, n_calls))
        if number % 2:
            os.kill(rng.choice(_workers_of(process.pid)), signal.SIGKILL)
        else:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            process = _build(world.folder, workspace, llm)
        assert _finish(process)["failed"] == {}
        assert _shards(world.folder / workspace) == world.shards
        assert llm.n_repeated <= MAX_REPEATED_SHARE * len(llm.answered)


def _workers_of(driver: int) -> list[int]:
    """Return the processes that run a stage for a driver."""
    found: list[int] = []
    deadline = time.monotonic() + 30
    while not found and time.monotonic() < deadline:
        children = psutil.Process(driver).children(recursive=True)
        found = [each.pid for each in children if "MapWorker" in " ".join(_command_of(each))]
    return found


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture
def cluster(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Callable[[], None]]]:
    """A Ray of three nodes on this machine: its address, and what takes a node away."""
    for name, value in {"period_ms": "1000", "timeout_ms": "1000", "failure_threshold": "3"}.items():
        monkeypatch.setenv(f"RAY_health_check_{name}", value)
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 3, "include_dashboard": False})
    nodes = [made.add_node(num_cpus=2) for _ in range(2)]
    made.wait_for_nodes()
    yield made.address, lambda: made.remove_node(nodes.pop())
    made.shutdown()


def test_a_node_lost_and_a_workspace_in_a_bucket(world: World, llm: CountingLLM, cluster) -> None:
    address, lose_a_node = cluster
    boto3.client("s3").create_bucket(Bucket="work")
    options = ("--address", address)
    _add(world.folder, "s3://work/here", *options)
    process = _build(world.folder, "s3://work/here", llm, *options, "--workers", "3")
    llm.wait_for(300)
    lose_a_node()
    report = _finish(process)
    assert report["failed"] == {}
    assert _shards("s3://work/here") == world.shards
    assert llm.n_repeated <= MAX_REPEATED_SHARE * len(llm.answered)


def test_a_second_build_is_refused_and_harms_nothing(world: World, llm: CountingLLM) -> None:
    workspace = world.workspace("twice")
    first = _build(world.folder, workspace, llm)
    llm.wait_for(50)
    second = _build(world.folder, workspace, llm)
    _, errors = second.communicate(timeout=120)
    assert second.returncode == 1
    assert [line[:6] for line in errors.splitlines()] == ["error:", "  try:"]
    assert "works on" in errors
    assert _finish(first)["failed"] == {}
    assert _shards(world.folder / workspace) == world.shards
    # What is there is not asked again, not even by a build that starts from nothing else.
    assert _finish(_build(world.folder, workspace, llm))["llm_calls"] == 0
