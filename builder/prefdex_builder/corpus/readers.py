"""Reading documents from JSONL, Parquet and plain text. A bad record is a counted, named fault; it ends nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from prefdex_shared.ids import content_hash, one_line, scrub
from prefdex_shared.records import Document
from prefdex_shared.shard import MAX_SOURCE_CHARACTERS, MAX_TITLE_CHARACTERS

from .sources import SourceFile

FaultKind = Literal[
    "unreadable_file",
    "line_too_long",
    "not_utf8",
    "not_json",
    "not_an_object",
    "missing_text",
    "text_is_not_a_string",
    "empty_text",
    "missing_id",
    "missing_title",
    "title_cut",
    "source_cut",
    "duplicate_id",
]

NOTES: frozenset[FaultKind] = frozenset({"missing_id", "missing_title", "title_cut", "source_cut"})
"""Faults of documents that are used all the same."""

MAX_LINE_BYTES = 32 << 20

_PARQUET_ROWS = 1024
_Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with one record.

    Attributes:
        file: Name of the file.
        position: Line, or row, counted from 1; 0 for the whole file.
        kind: What is wrong.
        document_id: The record's id, where it has one.
    """

    file: str
    position: int
    kind: FaultKind
    document_id: str = ""

    @property
    def is_drop(self) -> bool:
        """Whether the record is left out."""
        return self.kind not in NOTES


@dataclass(frozen=True, slots=True)
class Reading:
    """One record as it was read.

    Attributes:
        position: Line, or row, counted from 1.
        document: The document; None where the record is left out.
        faults: What is wrong with it.
    """

    position: int
    document: Document | None
    faults: tuple[Fault, ...] = ()


def read(file: SourceFile) -> Iterator[Reading]:
    """Read all records of a file, in order.

    Args:
        file: A file with one of the known endings.
    """
    readers: dict[str, Callable[[SourceFile, BinaryIO], Iterator[Reading]]] = {
        ".jsonl": _read_jsonl,
        ".ndjson": _read_jsonl,
        ".parquet": _read_parquet,
    }
    try:
        with file.open() as stream:
            yield from readers.get(file.suffix, _read_text)(file, stream)
    except (OSError, pa.ArrowException):
        yield _dropped(file, 0, "unreadable_file")


def _read_jsonl(file: SourceFile, stream: BinaryIO) -> Iterator[Reading]:
    for position, line in enumerate(_lines(stream), start=1):
        if len(line) > MAX_LINE_BYTES:
            yield _dropped(file, position, "line_too_long")
        elif line.strip():
            yield _parse_line(file, position, line)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines; one that is too long comes cut just above the cap, and the rest of it is passed over."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        rest = line
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES + 1)
        yield line


def _parse_line(file: SourceFile, position: int, line: bytes) -> Reading:
    try:
        row = json.loads(line.decode("utf-8-sig" if position == 1 else "utf-8"))
    except UnicodeDecodeError:
        return _dropped(file, position, "not_utf8")
    except (ValueError, RecursionError):
        return _dropped(file, position, "not_json")
    if not isinstance(row, dict):
        return _dropped(file, position, "not_an_object")
    return _parse_row(file, position, row)


def _read_parquet(file: SourceFile, stream: BinaryIO) -> Iterator[Reading]:
    table = pq.ParquetFile(stream)
    columns = [name for name in ("id", "title", "text", "source") if name in table.schema_arrow.names]
    position = 0
    for batch in table.iter_batches(batch_size=_PARQUET_ROWS, columns=columns):
        for row in batch.to_pylist():
            position += 1
            yield _parse_row(file, position, row)


def _read_text(file: SourceFile, stream: BinaryIO) -> Iterator[Reading]:
    try:
        text = stream.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        yield _dropped(file, 0, "not_utf8")
        return
    yield _parse_row(file, 1, {"id": file.name, "title": file.name.rpartition("/")[2].rpartition(".")[0], "text": text})


def _parse_row(file: SourceFile, position: int, row: _Row) -> Reading:
    given_id = row.get("id")
    document_id = scrub(str(given_id)).strip() if isinstance(given_id, (str, int)) else ""
    text = row.get("text")
    if text is None:
        return _dropped(file, position, "missing_text", document_id)
    if not isinstance(text, str):
        return _dropped(file, position, "text_is_not_a_string", document_id)
    if not any(character.isalnum() for character in text):
        return _dropped(file, position, "empty_text", document_id)
    faults = []
    title = _one_line(row.get("title"))
    if not document_id:
        document_id = content_hash("prefdex/document/1", title, scrub(text))
        faults.append(Fault(file.name, position, "missing_id", document_id))
    if not title:
        faults.append(Fault(file.name, position, "missing_title", document_id))
    source = _one_line(row.get("source"))
    # A shard has no room for more.
    if len(title) > MAX_TITLE_CHARACTERS:
        faults.append(Fault(file.name, position, "title_cut", document_id))
    if len(source) > MAX_SOURCE_CHARACTERS:
        faults.append(Fault(file.name, position, "source_cut", document_id))
    document = Document(document_id, title[:MAX_TITLE_CHARACTERS], scrub(text), source[:MAX_SOURCE_CHARACTERS])
    return Reading(position, document, tuple(faults))


def _one_line(value: object) -> str:
    return one_line(value) if isinstance(value, str) else ""


def _dropped(file: SourceFile, position: int, kind: FaultKind, document_id: str = "") -> Reading:
    return Reading(position, None, (Fault(file.name, position, kind, document_id),))
