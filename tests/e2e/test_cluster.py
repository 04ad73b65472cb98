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


@pytest.fixture
def address():
    """A Ray head of its own, and its address."""
    port = _free_port()
    ray = Path(sys.executable).parent / "ray"
    options = ["--head", "--block", f"--port={port}", "--num-cpus=4", "--include-dashboard=false"]
    head = subprocess.Popen(
        [ray, "start", *options, "--node-ip-address=127.0.0.1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not _listens(port) and time.monotonic() < deadline:
        time.sleep(0.2)
    yield f"127.0.0.1:{port}"
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


def test_a_build_on_a_cluster_equals_one_on_a_local_ray(address: str, tmp_path: Path) -> None:
    rows = [{"id": str(n), "title": f"T{n}", "text": f"People like tea for reason {n}."} for n in range(300)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "preferences.jsonl").write_text('{"user": "u-1", "preferences": ["People like tea"]}')
    _run(tmp_path, "keys", "init", "keys")
    shards = {}
    for name, options in {"cluster": ["--address", address, "--workers", "2"], "local": []}.items():
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
