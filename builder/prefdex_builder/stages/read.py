"""read: files -> documents, cut into chunks, with what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from prefdex_shared.chunking import ChunkConfig, CountTokens, chunk
from prefdex_shared.encoder import HASHING, HashingEncoder, read_spec
from prefdex_shared.encoder.folder import TOKENIZER_FILE
from prefdex_shared.encoder.onnx import load_tokenizer
from prefdex_shared.ids import scrub

from ..cluster.stage import ONE_CPU, Call, Resources
from ..corpus import SourceFile, read
from ..corpus.readers import Reading

READINGS = pa.schema(
    [
        ("file_number", pa.int64()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("document_id", pa.string()),
        ("title", pa.string()),
        ("source", pa.string()),
        ("chunks", pa.list_(pa.string())),
        ("faults", pa.list_(pa.string())),
    ]
)
"""A row per record; a record that is left out has no chunks, and a fault that says why."""


def files_table(files: Mapping[int, SourceFile]) -> pa.Table:
    """Return files with their numbers as the batch that `read_and_chunk` takes."""
    names, locations = ([getattr(file, field) for file in files.values()] for field in ("name", "location"))
    return pa.table({"number": list(files), "name": names, "location": locations})


def read_and_chunk(files: pa.Table, config: ChunkConfig, count_tokens: CountTokens) -> pa.Table:
    """Read files and cut their documents into chunks.

    Args:
        files: Columns `number`, `name` and `location`.
        config: Sizes of chunks.
        count_tokens: The encoder's own count.

    Returns:
        A table of `READINGS`, in the order of the files and of the records in them.
    """
    rows = [
        {"file_number": file["number"], "file": file["name"], **_row(reading, config, count_tokens)}
        for file in files.to_pylist()
        for reading in read(SourceFile(file["name"], file["location"]))
    ]
    return pa.Table.from_pylist(rows, schema=READINGS)


def _row(reading: Reading, config: ChunkConfig, count_tokens: CountTokens) -> dict[str, object]:
    document = reading.document
    fault_id = reading.faults[0].document_id if reading.faults else ""
    return {
        "position": reading.position,
        "document_id": document.id if document else fault_id,
        "title": document.title if document else "",
        "source": document.source if document else "",
        "chunks": chunk(document.text, config, count_tokens) if document else [],
        "faults": [fault.kind for fault in reading.faults],
    }


@dataclass(frozen=True, slots=True)
class ReadStage:
    """Reads files on a worker.

    Attributes:
        encoder: Location of the encoder, whose tokenizer counts.
        config: Sizes of chunks.
    """

    encoder: str
    config: ChunkConfig
    name: str = "read"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        """Load the tokenizer."""
        return partial(read_and_chunk, config=self.config, count_tokens=token_counter(self.encoder))


def token_counter(encoder: str) -> CountTokens:
    """Return the counter of an encoder, without loading its model."""
    if encoder == HASHING:
        return HashingEncoder().count_tokens
    read_spec(Path(encoder))
    tokenizer = load_tokenizer(Path(encoder) / TOKENIZER_FILE)
    return lambda text: len(tokenizer.encode(scrub(text)).ids)
