"""The workspace: files appear whole, and a corpus is what its documents say."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from prefdex_builder.workspace import (
    Answers,
    CorpusStore,
    Failure,
    Live,
    LiveChunk,
    ShardRecord,
    Snapshot,
    Storage,
    VerdictStore,
    Workspace,
    shard_key,
)
from prefdex_builder.workspace.corpus import DOCUMENTS, block_name, block_table, content_id, embeddings
from prefdex_shared.errors import ConfigurationError, FormatError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.ids import chunk_id
from prefdex_shared.records import Preference, Verdict


class TestStorage:
    def test_a_failed_write_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        storage = Storage.at(tmp_path)
        storage.write("a", b"old")

        def fail(*arguments: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(ConfigurationError, match="a cannot be written: No space left on device"):
            storage.write("a", b"new")
        assert storage.read("a") == b"old"
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_an_unwritable_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        with pytest.raises(ConfigurationError, match="cannot be written"):
            Storage.at(tmp_path / "file").write("a", b"x")

    @pytest.mark.parametrize("method", ["read", "read_json", "read_table"])
    def test_what_cannot_be_read(self, tmp_path: Path, method: str) -> None:
        storage = Storage.at(tmp_path)
        with pytest.raises(FormatError, match="cannot be read"):
            getattr(storage, method)("nothing")
        storage.write("bad", b"[]")
        if method != "read":
            with pytest.raises(FormatError, match="not"):
                getattr(storage, method)("bad")

    def test_unfinished_files_have_no_names(self, tmp_path: Path) -> None:
        storage = Storage.at(tmp_path)
        storage.write("b.json", b"{}")
        (tmp_path / ".a.json").write_text("{}")
        assert storage.names(".json") == ["b.json"]
        assert Storage.at(tmp_path / "nothing").names(".json") == []


def _documents(*rows: tuple[str, str, list[str] | None]) -> pa.Table:
    return pa.Table.from_pylist(
        [{"document_id": i, "title": t, "source": "s", "chunk_ids": c} for i, t, c in rows], schema=DOCUMENTS
    )


class TestCorpus:
    def test_live_chunks_are_titled_by_the_smallest_document(self, tmp_path: Path) -> None:
        store = CorpusStore(Storage.at(tmp_path))
        name = store.add_documents(_documents(("b", "Second", ["x", "y"]), ("a", "First", ["x"])))
        live = store.live(Snapshot(1, "e", "c", (name,), ()))
        assert live == Live(frozenset("ab"), {"x": LiveChunk("First", "s"), "y": LiveChunk("Second", "s")})

    def test_a_document_added_again_replaces_the_one_before(self, tmp_path: Path) -> None:
        store = CorpusStore(Storage.at(tmp_path))
        first = store.add_documents(_documents(("a", "Old", ["x", "y"])))
        second = store.add_documents(_documents(("a", "New", ["y", "z"])))
        live = store.live(Snapshot(2, "e", "c", (first, second), ()))
        assert live == Live(frozenset("a"), {"y": LiveChunk("New", "s"), "z": LiveChunk("New", "s")})

    def test_a_document_that_was_removed_may_come_back(self, tmp_path: Path) -> None:
        store = CorpusStore(Storage.at(tmp_path))
        added = store.add_documents(_documents(("a", "A", ["x", "y"]), ("b", "B", ["y"])))
        removed = store.add_documents(_documents(("a", "", None)))
        without = store.live(Snapshot(2, "e", "c", (added, removed), ()))
        assert without == Live(frozenset("b"), {"y": LiveChunk("B", "s")})
        again = store.add_documents(_documents(("a", "A again", ["x"])))
        back = store.live(Snapshot(3, "e", "c", (added, removed, again), ()))
        assert back.chunks == {"x": LiveChunk("A again", "s"), "y": LiveChunk("B", "s")}

    def test_identity_follows_content_and_not_history(self) -> None:
        live = {"x": LiveChunk("t", "s")}
        assert content_id(Snapshot(1, "e", "c", ("a",), ("b",)), live) == content_id(Snapshot(9, "e", "c"), live)
        changed = [({"x": LiveChunk("u", "s")}, "e", "c"), (live, "f", "c"), (live, "e", "d"), ({}, "e", "c")]
        ids = {content_id(Snapshot(1, encoder, chunker), each) for each, encoder, chunker in changed}
        assert len(ids | {content_id(Snapshot(1, "e", "c"), live)}) == 5

    def test_blocks_keep_float16(self, tmp_path: Path) -> None:
        vectors = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float16)
        storage = Storage.at(tmp_path)
        storage.write_table("b.parquet", block_table(["a", "b", "c"], ["1", "2", "3"], vectors))
        np.testing.assert_array_equal(embeddings(storage.read_table("b.parquet")), vectors)
        assert block_name(["a"], "e") != block_name(["a"], "f") != block_name(["b"], "f")

    def test_snapshots(self, tmp_path: Path) -> None:
        store = CorpusStore(Storage.at(tmp_path))
        with pytest.raises(ConfigurationError, match="holds no corpus"):
            store.check("e")
        snapshot = Snapshot(1, "e", "c", ("d",), ("b",))
        store.commit(snapshot, {})
        assert store.check("e") == snapshot
        with pytest.raises(ConfigurationError, match="embedded by encoder e, and f was given"):
            store.check("f")

    def test_texts_of_some_chunks(self, tmp_path: Path) -> None:
        store = CorpusStore(Storage.at(tmp_path))
        ids = [chunk_id(text) for text in ("1", "2", "3")]
        store.chunks.write_table("b", block_table(ids, ["1", "2", "3"], np.zeros((3, 2), np.float16)))
        assert store.texts(Snapshot(1, blocks=("b",)), {ids[1]}) == {ids[1]: "2"}


class TestShards:
    def test_the_key_follows_all_that_the_bytes_depend_on(self) -> None:
        def key(preference="p", snapshot="s", encoder="e", filtering=None, judge="j", writer="w") -> str:
            return shard_key(
                Preference(preference),
                snapshot=snapshot,
                encoder=encoder,
                filtering=filtering or FilterConfig(),
                judge=judge,
                writer=writer,
            )

        keys = {
            key(),
            key(preference="q"),
            key(snapshot="x"),
            key(encoder="x"),
            key(filtering=FilterConfig(tau=0.26)),
            key(filtering=FilterConfig(max_candidates=9)),
            key(filtering=FilterConfig(min_candidates=9)),
            key(judge="x"),
            key(writer="x"),
        }
        assert len(keys) == 9
        assert key() == key(preference="  p ")

    def test_a_record_without_its_bytes_is_not_built(self, tmp_path: Path) -> None:
        index = Workspace.at(tmp_path).shards
        digest = index.put(b"bytes")
        index.record("k", ShardRecord(digest, 5, 4, 3, 1, 2, 1))  # type: ignore[arg-type]
        assert index.find("k") == ShardRecord(digest, 5, 4, 3, 1, 2, 1)  # type: ignore[arg-type]
        assert index.get(digest) == b"bytes"
        (tmp_path / "shards" / f"{digest}.shard").unlink()
        assert index.find("k") is None  # type: ignore[arg-type]


def test_answers_add_up(tmp_path: Path) -> None:
    store: VerdictStore = Workspace.at(tmp_path).verdicts("judge", "writer")
    assert store.load() == Answers()
    first = Answers({"a": Verdict(True, "r", 0.5)}, {"a": "read"})
    store.save(["a", "c"], first)
    store.save(["b"], Answers({"b": Verdict(False, "", 1.0)}))
    store.save(["d"], Answers())
    assert store.load() == first | Answers({"b": Verdict(False, "", 1.0)})
    # Whoever asks the same batch again finds what was said; the order of its pairs does not count.
    assert store.load_batch(["c", "a"]) == first
    assert store.load_batch(["a"]) == store.load_batch(["d"]) == Answers()
    assert Workspace.at(tmp_path).verdicts("other", "writer").load() == Answers({}, first.instructions)


def test_many_small_files_of_answers_become_one(tmp_path: Path) -> None:
    store: VerdictStore = Workspace.at(tmp_path).verdicts("judge", "writer")
    for number in range(40):
        key = f"k{number}"
        store.save([key], Answers({key: Verdict(True, "r", 0.5)}, {key: f"read {number}"}))
    before = store.load()
    for _ in range(2):
        store.compact()
        assert store.load() == before
        assert [len(list(tmp_path.glob(f"{kind}/*/*"))) for kind in ("verdicts", "instructions")] == [1, 1]
    store.save(["new"], Answers({"new": Verdict(False, "r", 0.5)}))
    store.compact()
    assert len(store.load().verdicts) == 41


def test_failures_are_counted_until_they_succeed(tmp_path: Path) -> None:
    failures = Workspace.at(tmp_path).failures
    one, two = Failure("p1", "c1", "judge", "too long"), Failure("p2", "c1", "write", "empty")
    failures.replace([one, two], {"p1", "p2"})
    failures.replace([one], {"p1"})
    assert failures.load() == [two, replace(one, tries=2)]
    failures.replace([], {"p1", "p3"})
    assert failures.load() == [two]


def test_versions_of_a_user(tmp_path: Path) -> None:
    users = Workspace.at(tmp_path).users
    assert users.latest("u-1") is None
    for version in (1, 2, 10):
        users.put("u-1", version, b"%d" % version)
    users.storage.folder("u-1").write("u-1-9-to-10.pdx", b"a patch that somebody put there")
    assert users.latest("u-1") == (10, b"10")
    with pytest.raises(ConfigurationError, match="is not a user id"):
        users.latest("../u-1")
