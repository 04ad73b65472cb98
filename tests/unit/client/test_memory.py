"""`Memory`: verified before parsed, and answers that equal a comparison with all entries."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_client import PAPER, UNSTEERED, Memory, Scoring, apply_patch
from prefdex_shared import container, patching, shard
from prefdex_shared.encoder import HashingEncoder
from prefdex_shared.errors import (
    ConfigurationError,
    EncoderMismatchError,
    FormatError,
    HashMismatchError,
    TrustError,
)
from support.bundles import AUDIENCE, CONTENT, ENCODER, PAST, Publisher, entry, parts

SCORINGS = st.builds(Scoring, st.floats(0, 2), st.floats(0, 2), st.floats(-1, 1))


def _open(data: bytes, publisher: Publisher, tmp_path: Path, **changes) -> Memory:
    file = tmp_path / "bundle.pdx"
    file.write_bytes(data)
    return Memory.open(file, **({"trust": publisher.trust, "encoder": ENCODER, "audience": AUDIENCE} | changes))


@pytest.fixture
def memory(publisher: Publisher, tmp_path: Path) -> Memory:
    return _open(publisher.bundle(CONTENT), publisher, tmp_path)


def _brute_force(memory: Memory, question: str, k: int, scoring: Scoring) -> list[tuple[str, float]]:
    steered = memory.steer(question, scoring)
    best: dict[str, float] = {}
    for tag, each in enumerate(memory._view().held):
        for held, vector in zip(each.parts[0].shard.entries, each.parts[0].shard.vectors, strict=True):
            score = float(vector @ steered.vector + steered.tag_scores[tag])
            best[held.text] = max(best.get(held.text, -9.0), score)
    return sorted(best.items(), key=lambda item: -item[1])[:k]


@given(
    n_entries=st.lists(st.integers(0, 30), max_size=5),
    shared=st.integers(0, 5),
    k=st.integers(1, 12),
    scoring=SCORINGS,
    question=st.sampled_from(["tea on hills", "note on text 3", "I like topic 1", "x"]),
)
def test_queries_equal_brute_force(tmp_path_factory, n_entries, shared, k, scoring, question) -> None:
    publisher = Publisher()
    content = {
        f"I like topic {tag}": [
            *(entry(f"Text {tag} {row}.", f"note {row} on text {tag} about tea") for row in range(n)),
            *(entry(f"Shared text {row}.", f"shared note {row} for topic {tag}") for row in range(shared)),
        ]
        for tag, n in enumerate(n_entries)
    }
    memory = _open(publisher.bundle(content), publisher, tmp_path_factory.mktemp("bundle"))
    hits = memory.query(question, k, scoring=scoring)
    expected = _brute_force(memory, question, k, scoring)
    np.testing.assert_allclose([hit.score for hit in hits], [score for _, score in expected], atol=1e-5)
    assert len({hit.chunk_id for hit in hits}) == len(hits)


def test_a_hit_names_all_its_preferences(memory: Memory) -> None:
    [hit] = [hit for hit in memory.query("who likes tea", 10) if hit.text == "Both like tea."]
    assert set(hit.preferences) == {"I like trains", "I like tea"}
    assert set(hit.instructions) == {"Note on Both like tea.", "Tea is liked by both"}
    assert hit.score == max(match.score for match in hit.matches)
    assert (hit.title, hit.source) == ("Title of Both like tea.", "source")


def test_k_hits_are_k_chunks(memory: Memory) -> None:
    assert [len(memory.query("tea", k)) for k in (1, 2, 3, 4, 5)] == [1, 2, 3, 4, 4]


def test_steering_changes_the_answer(memory: Memory) -> None:
    by_tag = memory.query("I like trains what note", 1, scoring=Scoring(0.0, 100.0, -1.0))
    assert "I like trains" in by_tag[0].preferences
    unsteered, paper = memory.query("hills", 4, scoring=UNSTEERED), memory.query("hills", 4, scoring=PAPER)
    assert [hit.score for hit in unsteered] != [hit.score for hit in paper]


def test_preferences_and_stats(memory: Memory, publisher: Publisher) -> None:
    assert [(each.text, each.n_entries) for each in memory.preferences] == [
        ("I like trains", 3),
        ("I like tea", 2),
        ("I like nothing that exists", 0),
    ]
    stats = memory.stats()
    assert (stats.audience, stats.version, stats.n_preferences, stats.n_entries, stats.n_chunks) == (
        AUDIENCE,
        1,
        3,
        5,
        4,
    )
    assert stats.bundle_bytes == len(publisher.bundle(CONTENT))
    assert not stats.stale


def test_the_context_holds_texts_notes_and_sources(memory: Memory) -> None:
    context = memory.context("who likes tea", 10)
    assert context.startswith("[1] Title of ")
    for wanted in ("Trains run on rails.", "Note: Tea is liked by both", "Source: source", "[4] "):
        assert wanted in context


@pytest.mark.parametrize("content", [{}, {"I like tea": []}], ids=["no preference", "no entry"])
def test_an_empty_bundle_gives_empty_answers(content, publisher: Publisher, tmp_path: Path) -> None:
    memory = _open(publisher.bundle(content), publisher, tmp_path)
    assert memory.query("tea") == []
    assert memory.context("tea") == ""
    assert memory.stats().n_entries == 0


@pytest.mark.parametrize(("question", "k"), [("", 5), ("  \n", 5), ("tea", 0), ("tea", -1)])
def test_an_impossible_question(memory: Memory, question: str, k: int) -> None:
    with pytest.raises(ConfigurationError):
        memory.query(question, k)


def test_equal_scores_have_one_order(publisher: Publisher, tmp_path: Path) -> None:
    content = {"I like tea": [entry(f"Text {row}.", "the same note for all") for row in range(20)]}
    memory = _open(publisher.bundle(content), publisher, tmp_path)
    hits = memory.query("note", 20)
    assert [hit.text for hit in hits] == [held.text for held in memory._view().held[0].parts[0].shard.entries]


def test_many_threads_get_the_same_answers(memory: Memory) -> None:
    questions = ["tea", "trains", "hills", "platforms"] * 50
    expected = [memory.query(question) for question in questions]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(memory.query, questions)) == expected


class TestRefused:
    def test_another_encoder(self, publisher: Publisher, tmp_path: Path) -> None:
        with pytest.raises(EncoderMismatchError):
            _open(publisher.bundle(CONTENT), publisher, tmp_path, encoder=HashingEncoder(dim=32))

    def test_a_patch(self, publisher: Publisher, tmp_path: Path) -> None:
        old, new = (
            parts(publisher.bundle({"I like tea": CONTENT["I like tea"]})),
            parts(publisher.bundle(CONTENT, version=2)),
        )
        with pytest.raises(ConfigurationError, match="patch"):
            _open(container.encode(patching.make(old, new)), publisher, tmp_path)

    def test_a_missing_file(self, publisher: Publisher, tmp_path: Path) -> None:
        options = {"trust": publisher.trust, "encoder": ENCODER, "audience": AUDIENCE}
        with pytest.raises(ConfigurationError, match="cannot be read"):
            Memory.open(tmp_path / "nothing.pdx", **options)

    def test_nothing_is_parsed_before_it_is_verified(
        self, publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        held = parts(publisher.bundle(CONTENT))
        parsed = []
        monkeypatch.setattr(shard, "decode", lambda data, where: parsed.append(where))
        tampered = container.Container((), held.targets, {**held.files, "s2": b"x" * len(held.files["s2"])})
        with pytest.raises(HashMismatchError):
            _open(container.encode(tampered), publisher, tmp_path)
        assert parsed == []


def test_a_stale_bundle_opens_and_says_so(publisher: Publisher, tmp_path: Path) -> None:
    memory = _open(publisher.bundle(CONTENT, expires=PAST), publisher, tmp_path)
    assert memory.stats().stale
    assert memory.query("tea")


class TestApplyPatch:
    def _files(self, publisher: Publisher, tmp_path: Path) -> tuple[Path, Path, bytes]:
        old, new = publisher.bundle(CONTENT), publisher.bundle({"I like tea": CONTENT["I like tea"]}, version=2)
        bundle, patch = tmp_path / "me.pdx", tmp_path / "patch.pdx"
        bundle.write_bytes(old)
        patch.write_bytes(container.encode(patching.make(parts(old), parts(new))))
        return bundle, patch, new

    def test_in_place(self, publisher: Publisher, tmp_path: Path) -> None:
        bundle, patch, new = self._files(publisher, tmp_path)
        assert apply_patch(bundle, patch, bundle, trust=publisher.trust, audience=AUDIENCE) == len(new)
        assert bundle.read_bytes() == new
        assert sorted(path.name for path in tmp_path.iterdir()) == ["me.pdx", "patch.pdx"]

    def test_a_bad_patch_leaves_the_bundle(self, publisher: Publisher, tmp_path: Path) -> None:
        bundle, patch, _ = self._files(publisher, tmp_path)
        before = bundle.read_bytes()
        patch.write_bytes(patch.read_bytes()[:-1] + b"x")
        with pytest.raises((FormatError, TrustError)):
            apply_patch(bundle, patch, bundle, trust=publisher.trust, audience=AUDIENCE)
        assert bundle.read_bytes() == before

    def test_an_unwritable_place(self, publisher: Publisher, tmp_path: Path) -> None:
        bundle, patch, _ = self._files(publisher, tmp_path)
        with pytest.raises(ConfigurationError, match="cannot be written"):
            apply_patch(bundle, patch, tmp_path / "no" / "where.pdx", trust=publisher.trust, audience=AUDIENCE)
