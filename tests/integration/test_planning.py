"""`plan` says what `build` then does; `calibrate` says what thresholds would keep; what is removed is gone."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prefdex_builder.calibrating import calibrate
from prefdex_builder.config import Price
from prefdex_builder.preferences import make_user
from prefdex_builder.progress import Silent
from prefdex_shared.errors import ConfigurationError, CorpusError
from prefdex_shared.filtering import FilterConfig
from support.place import CONFIG, InlineSession, Place

TOPICS = ("tea", "trains", "dogs")
WIDE = replace(CONFIG, filtering=FilterConfig(tau=0.15))
USERS = {"u-1": [f"I like {topic}" for topic in TOPICS], "u-2": ["I like tea"]}


def _documents(n: int, start: int = 0) -> list[dict[str, str]]:
    return [
        {"id": str(i), "title": f"T{i}", "text": f"People like {TOPICS[i % 3]} for reason {i}."}
        for i in range(start, start + n)
    ]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path, InlineSession(random.Random(3)))
    place.add(_documents(60))
    return place


def test_a_plan_is_what_then_happens(place: Place) -> None:
    planned = place.plan(USERS)
    assert (planned.preferences, planned.shards_missing, planned.chunks) == (3, 3, 60)
    built = place.build(USERS)
    assert planned.candidates == planned.pairs_to_judge == built.candidates
    # Nothing was judged before, so that all might be kept.
    assert planned.llm_calls == planned.llm_calls_at_most == 2 * built.candidates > built.llm_calls
    after = place.plan(USERS)
    assert (after.shards_missing, after.llm_calls, after.llm_calls_at_most, after.prompt_tokens) == (0, 0, 0, 0)
    # Of what exists the size is known; the metadata are not counted.
    for user, bundle in zip(after.users, built.users, strict=True):
        assert user.bundle_bytes == sum(each.shard_bytes for each in bundle.preferences)


def test_a_plan_learns_from_what_was_judged(place: Place) -> None:
    built = place.build(USERS, WIDE)
    place.add(_documents(60, start=60), name="more")
    planned = place.plan(USERS, replace(WIDE, price=Price(prompt=2.0, output=8.0)))
    again = place.build(USERS, replace(WIDE, price=Price(prompt=2.0, output=8.0)))
    assert planned.pairs_to_judge == again.candidates - built.candidates > 0
    # About two thirds are kept by this engine.
    assert planned.llm_calls < planned.llm_calls_at_most
    for name in ("llm_calls", "prompt_tokens", "output_tokens", "cost"):
        assert getattr(planned, name) == pytest.approx(getattr(again, name), rel=0.25), name
    for user, bundle in zip(planned.users, again.users, strict=True):
        assert user.bundle_bytes == pytest.approx(sum(each.shard_bytes for each in bundle.preferences), rel=0.3)


def test_a_plan_asks_nobody_and_leaves_the_filters_work_to_the_build(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.plan(USERS)
    assert not (place.folder / "workspace/verdicts").exists()
    assert not (place.folder / "workspace/users").exists()
    stages = []
    run = InlineSession.run

    def watched(self, stage, blocks):
        stages.append(stage.name)
        return run(self, stage, blocks)

    monkeypatch.setattr(InlineSession, "run", watched)
    place.build(USERS)
    assert "filter" not in stages
    assert "verify" in stages


def test_a_corpus_that_grew_is_searched_where_it_is_new(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.build(USERS)
    before = place.workspace.corpus.current().blocks
    place.add(_documents(30, start=60), name="more")
    searched = []
    run = InlineSession.run

    def watched(self, stage, blocks):
        if stage.name == "filter":
            searched.extend(name for block in blocks for name in block["block"].to_pylist())
        return run(self, stage, blocks)

    monkeypatch.setattr(InlineSession, "run", watched)
    place.build(USERS)
    assert searched == list(place.workspace.corpus.current().blocks[len(before) :])


def test_only_shards_with_other_entries_are_packed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, filtering=FilterConfig(tau=0.8))
    preferences = USERS["u-1"]
    before = place.shards(place.build(USERS, config))
    packed = []
    run = InlineSession.run

    def watched(self, stage, blocks):
        if stage.name == "pack":
            packed.extend(block["preference"][0].as_py() for block in blocks)
        return run(self, stage, blocks)

    monkeypatch.setattr(InlineSession, "run", watched)
    place.add([{"id": f"n{i}", "title": "T", "text": f"I like dogs {i}"} for i in range(9)], name="more")
    after = place.shards(place.build(USERS, config))
    changed = [text for text, old, new in zip(preferences, before, after, strict=True) if old != new]
    assert packed == changed == ["I like dogs"]


@pytest.mark.parametrize(
    ("change", "n_judged", "n_found_again"),
    [
        (lambda config: replace(config, filtering=replace(config.filtering, tau=0.3)), 0, 3),
        (lambda config: replace(config, filtering=replace(config.filtering, max_candidates=7)), 0, 3),
        (lambda config: replace(config, scoring=replace(config.scoring, tag_weight=0.3)), 0, 0),
        (lambda config: replace(config, llm=replace(config.llm, uri="extractive:")), 3, 0),
    ],
    ids=["tau", "cap", "steering", "engine"],
)
def test_a_setting_invalidates_what_depends_on_it(
    place: Place, monkeypatch: pytest.MonkeyPatch, change, n_judged: int, n_found_again: int
) -> None:
    first = place.build(USERS)
    stages = []
    run = InlineSession.run

    def watched(self, stage, blocks):
        stages.extend([stage.name] * len(blocks))
        return run(self, stage, blocks)

    monkeypatch.setattr(InlineSession, "run", watched)
    report = place.build(USERS, change(CONFIG))
    assert (report.llm_calls > 0) == (n_judged > 0)
    assert ("filter" in stages) == (n_found_again > 0)
    assert all(each.is_new for each in report.users)
    assert report.users[0].version == first.users[0].version + 1


def test_five_thousand_users_with_one_preference(place: Place) -> None:
    """Spelled in ways that are equal: one shard, and one shard's calls."""
    spellings = ("I like tea", "  I like   tea", "I\tlike tea ")
    users = {f"u-{number}": [spellings[number % 3]] for number in range(5_000)}
    one = place.build({"u-0": ["I like tea"]})
    report = place.build(users)
    assert (report.preferences, report.shards_built, report.llm_calls) == (1, 0, 0)
    assert one.llm_calls > 0
    assert len({each.preferences[0].shard_bytes for each in report.users}) == 1
    assert sum(each.is_new for each in report.users) == 4_999


def test_removed_documents_are_gone_and_may_come_back(place: Place) -> None:
    first = place.build(USERS)
    removed = place.remove("0", "3", "0")
    assert (removed.documents, removed.chunks, removed.snapshot) == (2, 2, 2)
    report = place.build(USERS)
    assert (report.documents, report.chunks) == (58, 58)
    texts = {hit.text for hit in place.memory(report).query("tea", 100)}
    assert not {"People like tea for reason 0.", "People like tea for reason 3."} & texts
    place.add(_documents(60)[:4], name="again")
    back = place.build(USERS)
    assert place.shards(back) == place.shards(first)
    assert back.llm_calls == 0


def test_nothing_is_removed_if_something_is_not_there(place: Place) -> None:
    with pytest.raises(CorpusError, match=r"2 of 3 documents are not in the corpus, 'x' among them; none was removed"):
        place.remove("1", "y", "x")
    assert place.workspace.corpus.current().number == 1


def test_calibrate(place: Place) -> None:
    config = replace(CONFIG, filtering=FilterConfig(tau=0.3, max_candidates=30, min_candidates=5))
    report = calibrate(
        place.workspace,
        [make_user(user, texts) for user, texts in USERS.items()],
        encoder="hashing:",
        session=place.session,
        progress=Silent(),
        config=config,
    )
    assert [each.tau for each in report.thresholds] == [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    candidates = [each.candidates for each in report.thresholds]
    assert candidates == sorted(candidates, reverse=True)
    # It is what a build with that threshold finds.
    for each in report.thresholds[::3]:
        built = place.build(USERS, replace(config, filtering=FilterConfig(each.tau, 30)))
        assert (built.candidates, each.llm_calls_at_most) == (each.candidates, 2 * each.candidates)
    assert all(each.similarity >= 0.3 for each in report.above)
    assert all(each.similarity < 0.3 for each in report.below)
    assert report.above[0].similarity <= report.above[-1].similarity
    assert all(each.text and each.title.startswith("T") for each in (*report.above, *report.below))
    with pytest.raises(ConfigurationError, match="Nobody has a preference"):
        calibrate(place.workspace, [], encoder="hashing:", session=place.session, progress=Silent())
