"""Failures are data: recorded, told, tried again; and never a silent discard."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prefdex_builder.engines import LLMConfig
from prefdex_shared.errors import BuildError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.ids import chunk_id, preference_id
from support.llm_server import CountingLLM, serve
from support.place import CONFIG, InlineSession, Place

N_DOCUMENTS = 1_000
USERS = {"u-1": ["People like tea"]}
OVERSIZED = "People like tea for reason OVERSIZED."


@pytest.fixture
def llm() -> Iterator[CountingLLM]:
    with serve() as llm:
        llm.too_long = "OVERSIZED"
        yield llm


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path, InlineSession(random.Random(6)))
    texts = [f"People like tea for reason {n}." for n in range(N_DOCUMENTS - 1)]
    place.add([{"id": str(n), "title": f"T{n}", "text": text} for n, text in enumerate([*texts, OVERSIZED])])
    return place


def test_one_oversized_chunk_among_a_thousand(place: Place, llm: CountingLLM) -> None:
    """The kind of ray 59194, where one over-long prompt killed a whole batch job."""
    config = replace(CONFIG, filtering=FilterConfig(tau=0.15), llm=LLMConfig(llm.address))
    report = place.build(USERS, config)
    assert report.failed == {"judge: The server answered 400.": 1}
    assert report.kept + report.discarded == N_DOCUMENTS - 1
    assert report.users[0].preferences[0].failed == 1
    [failure] = place.workspace.failures.load()
    assert (failure.preference, failure.chunk_id) == (preference_id(USERS["u-1"][0]), chunk_id(OVERSIZED))
    assert (failure.stage, failure.reason, failure.tries) == ("judge", "The server answered 400.", 1)
    assert b"OVERSIZED" not in (place.folder / "workspace/failures/failures.parquet").read_bytes()
    assert "failed, judge: The server answered 400." in (place.folder / "workspace/report.html").read_text()

    # It alone is tried again, and the shard is whole once it succeeds.
    n_before = llm.n_answered
    again = place.build(USERS, config)
    assert (again.failed, llm.n_answered, again.users[0].is_new) == (report.failed, n_before, False)
    assert [each.tries for each in place.workspace.failures.load()] == [2]
    llm.too_long = ""
    mended = place.build(USERS, config)
    assert (mended.failed, mended.users[0].preferences[0].failed) == ({}, 0)
    assert 1 <= llm.n_answered - n_before <= 2
    assert place.workspace.failures.load() == []
    assert place.build(USERS, config).shards_built == 0


def test_too_many_failures_make_no_version_and_are_recorded(place: Place, llm: CountingLLM) -> None:
    llm.too_long = "reason 1"
    config = replace(CONFIG, filtering=FilterConfig(tau=0.15), llm=LLMConfig(llm.address))
    with pytest.raises(BuildError, match=r"\d+ of 1000 pairs failed, over the allowed share of 5%") as raised:
        place.build(USERS, config)
    assert "what was answered is kept" in raised.value.hint
    assert place.workspace.users.latest("u-1") is None
    assert len(place.workspace.failures.load()) == sum(f"reason {n}".startswith("reason 1") for n in range(999))
    n_before = llm.n_answered
    llm.too_long = ""
    assert place.build(USERS, config).failed == {}
    assert llm.n_repeated == 0
    assert llm.n_answered > n_before
    assert json.loads((place.folder / "workspace/lock.json").read_text())["process"]
