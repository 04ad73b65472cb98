"""Finding and reading a corpus: nothing that is wrong with it crashes, and nothing is passed over in silence."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_builder.corpus import SourceFile, find, read, readers
from prefdex_shared.errors import CorpusError
from prefdex_shared.packing import pack
from prefdex_shared.records import Preference
from support.bundles import ENCODER, entry

GOOD = {"id": "1", "title": "Tea", "text": "Tea grows on hills.", "source": "Wikipedia"}


def _file(tmp_path: Path, name: str, data: bytes) -> SourceFile:
    path = tmp_path / name
    path.write_bytes(data)
    return SourceFile(name, str(path))


def _kinds(file: SourceFile) -> list[str]:
    return [fault.kind for reading in read(file) for fault in reading.faults]


@pytest.mark.parametrize(
    ("line", "kind", "is_used"),
    [
        (json.dumps(GOOD).encode(), None, True),
        (json.dumps(GOOD | {"id": 7}).encode(), None, True),
        (json.dumps(GOOD | {"title": None}).encode(), "missing_title", True),
        (json.dumps(GOOD | {"title": ["a"]}).encode(), "missing_title", True),
        (json.dumps({"text": "x y", "title": "t"}).encode(), "missing_id", True),
        (json.dumps(GOOD | {"title": "t" * 1_001}).encode(), "title_cut", True),
        (json.dumps(GOOD | {"source": "s" * 2_001}).encode(), "source_cut", True),
        (json.dumps(GOOD | {"text": None}).encode(), "missing_text", False),
        (json.dumps({"id": "1", "title": "t"}).encode(), "missing_text", False),
        (json.dumps(GOOD | {"text": 5}).encode(), "text_is_not_a_string", False),
        (json.dumps(GOOD | {"text": "  ... \n"}).encode(), "empty_text", False),
        (b"{bad", "not_json", False),
        (b"[1, 2]", "not_an_object", False),
        (b"[" * 200_000, "not_json", False),
        (b'{"id": "1", "text": "\xff\xfe"}', "not_utf8", False),
        (json.dumps(GOOD | {"text": "lone \ud800 surrogate"}).encode(), None, True),
    ],
    ids=str,
)
def test_lines(tmp_path: Path, line: bytes, kind: str | None, is_used: bool) -> None:
    readings = list(read(_file(tmp_path, "a.jsonl", json.dumps(GOOD).encode() + b"\n" + line + b"\n")))
    assert len(readings) == 2
    assert [fault.kind for fault in readings[1].faults] == ([kind] if kind else [])
    assert (readings[1].document is not None) == is_used
    assert readings[1].position == 2
    if readings[1].document:
        readings[1].document.text.encode("utf-8")
        # Whatever is read fits into a shard.
        held = entry(readings[1].document.text)
        pack(
            Preference("p"),
            [replace(held, title=readings[1].document.title, source=readings[1].document.source)],
            ENCODER,
        )


def test_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n\r\n   \n"
    [reading] = read(_file(tmp_path, "a.jsonl", data))
    assert reading.document is not None
    assert reading.document.id == "1"


def test_a_line_over_the_cap_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MAX_LINE_BYTES", 100)
    good = json.dumps(GOOD).encode()
    readings = list(read(_file(tmp_path, "a.jsonl", b"x" * 1_000 + b"\n" + good + b"\n" + b"y" * 99_999)))
    assert [[fault.kind for fault in reading.faults] for reading in readings] == [
        ["line_too_long"],
        [],
        ["line_too_long"],
    ]


@given(st.binary(max_size=300))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    for name in ("a.jsonl", "b.parquet", "c.txt"):
        for reading in read(_file(folder, name, data)):
            assert reading.document is not None or any(fault.is_drop for fault in reading.faults)


def test_parquet(tmp_path: Path) -> None:
    rows = [GOOD, GOOD | {"id": "2", "text": None}, GOOD | {"id": "3", "title": None}]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([row | {"extra": 1} for row in rows]), path)
    readings = list(read(SourceFile("a.parquet", str(path))))
    assert [reading.position for reading in readings] == [1, 2, 3]
    assert [[fault.kind for fault in reading.faults] for reading in readings] == [
        [],
        ["missing_text"],
        ["missing_title"],
    ]


def test_parquet_with_numbers_for_ids_and_no_titles(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2], "text": ["one word", "two words"]}), path)
    assert [reading.document.id for reading in read(SourceFile("a", str(path)).__class__("a.parquet", str(path)))] == [
        "1",
        "2",
    ]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_a_file_that_vanished(tmp_path: Path, name: str) -> None:
    assert _kinds(SourceFile(name, str(tmp_path / name))) == ["unreadable_file"]


def test_plain_text(tmp_path: Path) -> None:
    [reading] = read(_file(tmp_path, "notes.on tea.txt", b"Tea grows on hills.\n"))
    assert reading.document is not None
    assert (reading.document.id, reading.document.title) == ("notes.on tea.txt", "notes.on tea")


class TestFinding:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name in ("a.jsonl", "deep/b.TXT", "deep/c.parquet", "d.pdf", ".hidden/e.txt", "workspace/corpus/f.parquet"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
        return tmp_path

    def _names(self, folder: Path, *sources: str) -> tuple[list[str], list[str]]:
        files, skipped = find([str(folder / source) for source in sources], exclude=folder / "workspace")
        return [file.name for file in files], skipped

    def test_a_folder_without_its_own_workspace(self, folder: Path) -> None:
        assert self._names(folder, "") == (["a.jsonl", "deep/b.TXT", "deep/c.parquet"], ["d.pdf"])

    def test_a_file_and_a_glob_and_no_file_twice(self, folder: Path) -> None:
        assert self._names(folder, "a.jsonl", "a.jsonl") == (["a.jsonl"], [])
        names, _ = self._names(folder, "deep/*")
        assert [Path(name).name for name in names] == ["b.TXT", "c.parquet"]

    def test_nothing(self, folder: Path) -> None:
        with pytest.raises(CorpusError, match="There is no file at"):
            self._names(folder, "nowhere")
        with pytest.raises(CorpusError, match="None of the 1 files"):
            self._names(folder, "d.pdf")
