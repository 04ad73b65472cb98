"""Fixtures of all tests.

The client's tests run where the builder's packages are not installed, too: what needs those is imported in fixtures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

# Before Ray is imported: it would leave a token file in the home folder, which later commands then demand.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

# Ray's workers import stages of tests.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])

import pytest
from hypothesis import HealthCheck, settings

from support.bundles import Publisher

CACHE = Path(__file__).resolve().parents[1] / ".cache"

# Times vary on shared machines; a slow example is not a fault.
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("soak", settings.get_profile("ci"), max_examples=2_000)
settings.load_profile("ci")


@pytest.fixture
def publisher() -> Publisher:
    """A publisher with fixed keys."""
    return Publisher()


@pytest.fixture
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty S3 server of moto, which boto3 finds through the environment."""
    from support.s3 import serve

    with serve() as address:
        for name, value in {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        yield address


@pytest.fixture(scope="session")
def minilm_source() -> Path:
    """MiniLM as an ONNX folder."""
    from support import models

    return models.minilm_source(CACHE)


@pytest.fixture(scope="session")
def minilm() -> Path:
    """MiniLM as an int8 encoder folder."""
    folder = CACHE / "encoder-int8"
    if not folder.exists():
        from support import models

        models.minilm_int8(CACHE, folder)
    return folder


@pytest.fixture(scope="session")
def minilm_torch() -> Path:
    """MiniLM as a sentence-transformers folder."""
    from support import models

    return models.minilm_torch(CACHE)


@pytest.fixture(scope="session")
def smollm() -> Path:
    """A small language model as GGUF. It judges at chance: it proves plumbing only."""
    from support import models

    return models.smollm(CACHE)


@pytest.fixture(scope="session")
def session():
    """A local Ray with two workers."""
    from prefdex_builder.cluster import ClusterConfig, start

    with start(ClusterConfig(n_workers=2)) as started:
        yield started
