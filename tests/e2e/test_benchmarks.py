"""Benchmarks run, and what they promise that does not depend on time holds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def _run(name: str) -> dict:
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_bundle_size() -> None:
    result = _run("bundle_size")
    assert result["ratio_vs_reference"] <= 0.25
    assert result["ratio_vs_reference_extractive"] <= 0.25
    assert result["recall_at_5_vs_float32"] >= 0.99
    assert sum(result["parts"].values()) == pytest.approx(1, abs=1e-3)
    assert result["environment"]["cores"] > 0


def test_compression() -> None:
    shares = {name: each["body"] for name, each in _run("compression")["compressed_share"].items()}
    assert len(shares) == 5
    assert min(shares, key=shares.__getitem__) == "brotli -11 (ours)"


def test_budget() -> None:
    result = _run("budget")
    assert result["exceeded"] == 0
    for budget in ("16", "24", "32", "48", "64", "128"):
        rates = result["hit_rate"][budget]
        assert rates["ours"] > max(rates["random"], rates["first come"]), budget


def test_retrieval_latency() -> None:
    result = _run("retrieval_latency")
    assert result["questions"] >= 60
    assert set(result["p50_ms"]) == {"ours", "reference", "bare encoder"}
    # Twelve encodings against one: no machine is so noisy.
    assert result["ratio_vs_reference"] > 2


def test_patch() -> None:
    result = _run("patch")
    assert result["preferences"] == 10
    assert result["add"]["overhead_bytes"] <= 2_500
    assert result["remove"]["bytes"] <= result["remove"]["overhead_bytes"] <= 2_500
    assert (result["add"]["shards"], result["remove"]["shards"], result["replace"]["shards"]) == (1, 0, 1)
    assert all(result[change]["ratio_vs_full"] < 1 for change in ("add", "remove", "replace", "grown"))


def test_steering() -> None:
    result = _run("steering")
    share = result["own_share"]
    assert share["unsteered"] < share["ours"] <= share["ceiling"]
    assert set(result["preference_accuracy"]) == set(result["relevance"]) == {*share} - {"ceiling"}
    # The sample has one person of odd number: an interval would be made up.
    assert result["gain_interval"] == [result["gain_over_paper_points"]] * 2


def test_streaming() -> None:
    result = _run("streaming")
    assert result["max_bytes_over_budget"] == 0
    last = result["checkpoints"][-1]
    assert last["bytes"] <= result["max_store_bytes"] < last["bytes_everything"] / 4
    assert 0 < last["own"] <= 1
