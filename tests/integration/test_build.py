"""The whole pipeline on a local Ray."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from prefdex_builder.cluster import Session
from prefdex_builder.config import BuildConfig, CorpusConfig
from prefdex_builder.engines import LLMConfig
from prefdex_shared import container, patching
from prefdex_shared.errors import BuildError, ConfigurationError, CorpusError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.ids import chunk_id
from support.place import CONFIG, Place
from support.stages import Raising, foreign_error, our_error

pytestmark = pytest.mark.ray

TOPICS = ("tea", "trains", "dogs", "chess", "bread")
PREFERENCES = [f"I like {topic} and everything about {topic}" for topic in TOPICS]


def _documents(n: int, start: int = 0) -> list[dict[str, str]]:
    return [_document(number, TOPICS[number % len(TOPICS)]) for number in range(start, start + n)]


def _document(number: int, topic: str) -> dict[str, str]:
    text = f"Document {number} tells of {topic}. People like {topic} for reason {number}."
    return {"id": f"d{number:04d}", "title": f"About {topic} {number}", "text": text, "source": "made up"}


@pytest.fixture
def place(tmp_path: Path, session: Session) -> Place:
    return Place(tmp_path, session)


def test_from_corpus_to_answer(place: Place) -> None:
    added = place.add(_documents(100))
    assert (added.documents, added.chunks, added.new_chunks, added.snapshot) == (100, 100, 100, 1)
    report = place.build({"u-1": PREFERENCES, "u-2": PREFERENCES[:2], "u-3": []}, BuildConfig(CONFIG.filtering))
    assert report.chunks == 100
    assert report.candidates == report.kept + report.discarded > 0
    assert report.entries == report.kept == sum(each.entries for each in report.users[0].preferences)
    # Two users' preferences are judged once.
    assert report.llm_calls == report.candidates + report.kept
    assert (report.shards_built, report.failed) == (5, {})
    hits = place.memory(report).query("Why do people like tea so much?", 3)
    assert len(hits) == 3
    assert all("tea" in hit.text for hit in hits)
    assert place.memory(report, "u-3").query("tea") == []
    assert place.shards(report, "u-2") == place.shards(report)[:2]


def test_any_parallelism_gives_the_same_shards(tmp_path: Path) -> None:
    results = []
    for n_workers, n_files in ((1, 1), (3, 7)):
        place = Place(tmp_path / f"{n_workers}", Session(n_workers))
        rows = _documents(600)
        place.add(rows if n_workers == 1 else rows[::-1], n_files)
        results.append(place.shards(place.build({"u-1": PREFERENCES if n_workers == 1 else PREFERENCES[::-1]})))
    assert results[0] == results[1][::-1]
    assert all(len(data) > 500 for data in results[0])


def test_a_build_that_changes_nothing_does_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.add(_documents(50))
    first = place.build({"u-1": PREFERENCES})
    assert place.add(_documents(50)).new_chunks == 0
    assert place.workspace.corpus.current().number == 1

    def no_work(*arguments: object) -> None:
        raise AssertionError("a stage ran")

    monkeypatch.setattr(Session, "run", no_work)
    again = place.build({"u-1": PREFERENCES})
    assert (again.shards_built, again.llm_calls, again.users[0].is_new) == (0, 0, False)
    assert (again.candidates, again.kept, again.entries) == (first.candidates, first.kept, first.entries)
    assert again.users[0].path == first.users[0].path


def test_a_replaced_preference_is_the_only_work(place: Place) -> None:
    place.add(_documents(50))
    before = place.build({"u-1": PREFERENCES[:4]})
    after = place.build({"u-1": [*PREFERENCES[:3], PREFERENCES[4]]})
    assert (after.shards_built, after.users[0].version) == (1, 2)
    assert place.shards(after)[:3] == place.shards(before)[:3]
    old, new = (container.decode(Path(each.users[0].path).read_bytes()) for each in (before, after))
    patch = patching.make(old, new)
    assert list(patch.files) == ["s3"]
    assert patching.apply(old, patch, trust=place.keys.root.read_bytes(), audience="u-1") == new


def test_a_byte_budget(place: Place) -> None:
    place.add(_documents(100))
    users = {"u-1": PREFERENCES, "u-2": PREFERENCES[:2], "u-3": []}
    whole = place.build(users)
    cap = whole.users[0].bundle_bytes * 2 // 3
    config = replace(CONFIG, max_bundle_bytes=cap)
    report = place.build(users, config)
    assert (report.shards_built, report.llm_calls) == (0, 0)
    assert all(Path(user.path).stat().st_size == user.bundle_bytes <= cap for user in report.users)
    # Only the first user had too much.
    assert [user.is_new for user in report.users] == [True, False, False]
    told = report.users[0].preferences
    assert sum(each.left_out for each in told) > 0
    held = [each.n_entries for each in place.memory(report).preferences]
    assert held == [each.entries - each.left_out for each in told]
    again = place.build(users, config)
    assert [user.is_new for user in again.users] == [False] * 3
    with pytest.raises(ConfigurationError, match="u-1: a bundle of 500 bytes cannot hold 5 preferences") as caught:
        place.build({"u-1": PREFERENCES}, replace(CONFIG, max_bundle_bytes=500))
    assert "Allow at least" in caught.value.hint
    assert place.build(users).users[0].bundle_bytes == whole.users[0].bundle_bytes


def test_a_corpus_that_grew_and_a_document_that_changed(place: Place) -> None:
    place.add(_documents(40))
    place.build({"u-1": PREFERENCES})
    changed = _documents(1)[0] | {"text": "Nothing about it any more, it tells of volcanoes."}
    added = place.add([*_documents(10, start=40), changed], name="more")
    assert (added.new_chunks, added.snapshot) == (11, 2)
    report = place.build({"u-1": PREFERENCES})
    assert report.chunks == 50
    texts = {hit.text for hit in place.memory(report).query("tea", 100)}
    assert not any(text.startswith("Document 0 ") for text in texts)
    assert any(text.startswith("Document 4") for text in texts)
    # The same corpus at once, in a workspace of its own, gives the same shards.
    other = Place(place.folder / "other", place.session)
    other.add([changed, *_documents(49, start=1)])
    assert other.shards(other.build({"u-1": PREFERENCES})) == place.shards(report)


def test_faults_are_counted_and_named(place: Place) -> None:
    corpus = place.folder / "corpus"
    corpus.mkdir()
    rows = [json.dumps(row) for row in _documents(3)]
    untitled = json.dumps({"id": "x", "title": None, "text": "Tea without a title."})
    (corpus / "a.jsonl").write_text("\n".join([*rows, "{bad", untitled, json.dumps({"id": "n", "text": None})]))
    (corpus / "b.jsonl").write_text("\n".join([rows[1], rows[2]]))
    (corpus / "c.txt").write_text("Plain words about dogs.")
    (corpus / "d.pdf").write_bytes(b"%PDF")
    added = place.add_files(str(corpus))
    assert (added.documents, added.files, added.skipped_files) == (5, 3, 1)
    assert added.faults == {"duplicate_id": 2, "missing_text": 1, "missing_title": 1, "not_json": 1}
    assert added.examples == (
        "a.jsonl:4 not_json",
        "a.jsonl:5 missing_title x",
        "a.jsonl:6 missing_text n",
        "b.jsonl:1 duplicate_id d0001",
        "b.jsonl:2 duplicate_id d0002",
    )


def test_files_of_one_name_in_two_folders(place: Place) -> None:
    for folder in ("y", "x"):
        (place.folder / folder).mkdir()
        rows = [{"id": f"{folder}{n}", "title": folder, "text": f"Text {n} of {folder}."} for n in range(3)]
        rows.append({"id": "same", "title": folder, "text": f"The text of {folder}."})
        (place.folder / folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    added = place.add_files(str(place.folder / "y"), str(place.folder / "x"))
    assert (added.documents, added.faults, added.examples) == (7, {"duplicate_id": 1}, ("a.jsonl:4 duplicate_id same",))
    # The files stand in the order of their paths, whatever order they were named in.
    texts = set(place.workspace.corpus.live(place.workspace.corpus.current()).chunks)
    assert chunk_id("The text of x.") in texts
    assert chunk_id("The text of y.") not in texts


def test_equal_text_in_two_documents_is_one_chunk(place: Place) -> None:
    text = "People like tea for a reason that all documents share."
    place.add([{"id": f"d{n}", "title": f"Title {n}", "text": text} for n in (3, 1, 2)])
    report = place.build({"u-1": PREFERENCES[:1]}, BuildConfig(CONFIG.filtering))
    [hit] = place.memory(report).query("tea", 10)
    assert (hit.chunk_id, hit.title) == (chunk_id(text), "Title 1")


def test_nothing_to_read(place: Place) -> None:
    with pytest.raises(CorpusError):
        place.add_files(str(place.folder / "nowhere"))
    (place.folder / "bad.jsonl").write_text("{bad\n")
    with pytest.raises(BuildError, match=r"None of the records in 1 files is a document: bad\.jsonl:1 not_json"):
        place.add_files(str(place.folder / "bad.jsonl"))
    with pytest.raises(ConfigurationError, match="holds no corpus"):
        place.build({"u-1": PREFERENCES})


def test_other_settings_need_another_workspace(place: Place) -> None:
    place.add(_documents(10))
    with pytest.raises(ConfigurationError, match="another chunk sizes|another encoder"):
        place.add(_documents(10), config=CorpusConfig(target_words=50))


@pytest.mark.llm
def test_a_language_model_judges_and_writes(place: Place, smollm: Path) -> None:
    """Plumbing only: this model decides at chance, and may cut an answer off."""
    place.add(_documents(20))
    llm = LLMConfig(f"llamacpp:{smollm}", context_tokens=2_048)
    config = BuildConfig(FilterConfig(tau=0.15, max_candidates=3), llm, max_failed_share=1.0)
    report = place.build({"u-1": PREFERENCES[:2]}, config)
    assert report.llm.startswith(f"llamacpp:{smollm.name}@")
    assert report.candidates == 6
    assert report.llm_calls == 6 + report.kept
    judge_failures = sum(count for reason, count in report.failed.items() if reason.startswith("judge"))
    assert report.kept + report.discarded + judge_failures == 6
    assert report.kept + report.discarded > 0
    assert place.memory(report).stats().llm == report.llm


class TestFailures:
    def _config(self, smollm: Path, max_failed_share: float) -> BuildConfig:
        # No prompt fits a context this short: every pair fails, for a reason that has a name.
        return BuildConfig(
            FilterConfig(tau=0.15, max_candidates=3),
            LLMConfig(f"llamacpp:{smollm}", context_tokens=256),
            max_failed_share=max_failed_share,
        )

    @pytest.mark.llm
    def test_too_many_failures_end_the_build_without_a_bundle(self, place: Place, smollm: Path) -> None:
        place.add(_documents(20))
        with pytest.raises(BuildError, match=r"3 of 3 pairs failed.*exceed_context_size_error") as caught:
            place.build({"u-1": PREFERENCES[:1]}, self._config(smollm, 0.05))
        assert PREFERENCES[0] not in str(caught.value)
        assert place.workspace.users.latest("u-1") is None

    @pytest.mark.llm
    def test_a_partial_shard_is_tried_again(self, place: Place, smollm: Path) -> None:
        place.add(_documents(20))
        config = self._config(smollm, 1.0)
        for _ in range(2):
            report = place.build({"u-1": PREFERENCES[:1]}, config)
            assert (report.shards_built, report.entries) == (1, 0)
            assert report.failed == {"judge: llama.cpp: exceed_context_size_error": 3}
            assert [each.failed for each in report.users[0].preferences] == [3]
        assert report.users[0].version == 1


@pytest.mark.parametrize("at_load", [False, True])
def test_a_workers_own_error_arrives(session: Session, at_load: bool) -> None:
    with pytest.raises(ConfigurationError, match="The thing is wrong") as caught:
        list(session.run(Raising(our_error, at_load), [pa.table({"a": [1]})]))
    assert caught.value.hint == "Mend it."


def test_a_workers_foreign_error_is_a_build_error_without_texts(session: Session) -> None:
    with pytest.raises(
        BuildError, match=r"stage 'raise' failed on a worker: ZeroDivisionError at stages\.py:\d+"
    ) as caught:
        list(session.run(Raising(foreign_error), [pa.table({"a": [1]})]))
    assert "secret" not in str(caught.value)


def test_no_blocks_need_no_workers(session: Session) -> None:
    assert list(session.run(Raising(our_error), [])) == []
