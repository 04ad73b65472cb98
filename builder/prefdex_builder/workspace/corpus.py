"""The corpus of a workspace: append-only snapshots over immutable files.

    corpus/documents/<hash>.parquet   what one `corpus add` brought: id, title, source, and the ids of the chunks;
                                      or what one `corpus remove` took away: an id without chunks
    corpus/chunks/<hash>.parquet      a block of chunks: id, text, embedding (float16)
    corpus/snapshots/<number>.json    which of these files make up the corpus, and the report of the add

A document added again under its id replaces the one before. A chunk is live while a live document holds it; it is
titled by the smallest id among those. Blocks are only ever added, so their number tells what has been searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from prefdex_shared.errors import ConfigurationError
from prefdex_shared.ids import ChunkId, content_hash
from prefdex_shared.vectors import Bytes, Float16

from .storage import Storage, rows

CHUNKS_PER_BLOCK = 256

DOCUMENTS = pa.schema(
    [
        ("document_id", pa.string()),
        ("title", pa.string()),
        ("source", pa.string()),
        ("chunk_ids", pa.list_(pa.string())),
    ]
)
CHUNKS = ("chunk_id", "text", "embedding")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the corpus.

    Attributes:
        number: Counts from 1; 0 is the empty corpus.
        encoder_id: Encoder of the embeddings.
        chunker_id: Identity of the chunker's settings.
        documents: Files with documents, oldest first.
        blocks: Files with chunks.
    """

    number: int = 0
    encoder_id: str = ""
    chunker_id: str = ""
    documents: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveChunk:
    """What a live chunk is called.

    Attributes:
        title: Title of the smallest document that holds it.
        source: Source of that document.
    """

    title: str
    source: str


@dataclass(frozen=True, slots=True)
class Live:
    """What is in the corpus at a snapshot.

    Attributes:
        documents: Ids of the documents.
        chunks: What each chunk is called, by id.
    """

    documents: frozenset[str]
    chunks: Mapping[str, LiveChunk]


@dataclass(frozen=True, slots=True)
class CorpusStore:
    """Reads and writes the corpus of a workspace.

    Attributes:
        storage: The folder `corpus`.
    """

    storage: Storage
    _chunks: Storage = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_chunks", self.storage.folder("chunks"))

    @property
    def chunks(self) -> Storage:
        """Where blocks of chunks stand."""
        return self._chunks

    def current(self) -> Snapshot:
        """Return the newest snapshot."""
        names = self.storage.folder("snapshots").names(".json")
        if not names:
            return Snapshot()
        fields = self.storage.folder("snapshots").read_json(names[-1])
        documents, blocks = fields["documents"], fields["blocks"]
        assert isinstance(documents, list) and isinstance(blocks, list)  # noqa: S101, PT018 - written by `commit`
        return Snapshot(
            int(str(fields["number"])), str(fields["encoder"]), str(fields["chunker"]), tuple(documents), tuple(blocks)
        )

    def check(self, encoder_id: str) -> Snapshot:
        """Return the newest snapshot, for use with an encoder.

        Raises:
            ConfigurationError: There is no corpus, or another encoder made its embeddings.
        """
        snapshot = self.current()
        if snapshot.number == 0:
            raise ConfigurationError(
                "The workspace holds no corpus.", hint="Add one: prefdex corpus add SOURCE -w WORKSPACE -e ENCODER"
            )
        if snapshot.encoder_id != encoder_id:
            raise ConfigurationError(
                f"The corpus was embedded by encoder {snapshot.encoder_id[:12]}, and {encoder_id[:12]} was given.",
                hint="Use that encoder, or add the corpus to a new workspace.",
            )
        return snapshot

    def add_documents(self, table: pa.Table) -> str:
        """Store documents under a name that follows from them."""
        parts = [str(row) for row in rows(table)]
        name = f"{content_hash('prefdex/documents/1', *parts)}.parquet"
        self.storage.folder("documents").write_table(name, table)
        return name

    def commit(self, snapshot: Snapshot, report: dict[str, object]) -> None:
        """Make a snapshot the current one; all its files must be there."""
        value = {
            "number": snapshot.number,
            "encoder": snapshot.encoder_id,
            "chunker": snapshot.chunker_id,
            "report": report,
            "documents": snapshot.documents,
            "blocks": snapshot.blocks,
        }
        self.storage.folder("snapshots").write_json(f"{snapshot.number:08d}.json", value)

    def known_chunks(self, snapshot: Snapshot) -> set[str]:
        """Return the ids of all chunks that have an embedding."""
        tables = [self.chunks.read_table(name, ["chunk_id"]) for name in snapshot.blocks]
        return {chunk_id for table in tables for chunk_id in table["chunk_id"].to_pylist()}

    def live(self, snapshot: Snapshot) -> Live:
        """Return the live documents and chunks."""
        documents: dict[str, dict[str, Any]] = {}
        for name in snapshot.documents:
            for row in rows(self.storage.folder("documents").read_table(name)):
                if row["chunk_ids"] is None:
                    documents.pop(row["document_id"], None)
                else:
                    documents[row["document_id"]] = row
        chunks: dict[str, LiveChunk] = {}
        for document_id in sorted(documents):
            row = documents[document_id]
            named = LiveChunk(row["title"], row["source"])
            for chunk_id in row["chunk_ids"]:
                chunks.setdefault(chunk_id, named)
        return Live(frozenset(documents), chunks)

    def texts(self, snapshot: Snapshot, wanted: set[ChunkId]) -> dict[str, str]:
        """Return the texts of some chunks by id."""
        texts: dict[str, str] = {}
        for name in snapshot.blocks:
            if len(texts) == len(wanted):
                break
            table = self.chunks.read_table(name, ["chunk_id", "text"])
            pairs = zip(table["chunk_id"].to_pylist(), table["text"].to_pylist(), strict=True)
            texts.update((chunk_id, text) for chunk_id, text in pairs if chunk_id in wanted)
        return texts


def content_id(snapshot: Snapshot, live: Mapping[str, LiveChunk]) -> str:
    """Return the identity of what a snapshot holds, however it came to hold it."""
    parts = [part for key in sorted(live) for part in (key, live[key].title, live[key].source)]
    return content_hash("prefdex/snapshot/1", snapshot.encoder_id, snapshot.chunker_id, *parts)


def block_name(chunk_ids: Iterable[str], encoder_id: str, embedder: str = "") -> str:
    """Return the file name of a block of chunks, which follows from its content and from what embedded it."""
    return f"{content_hash('prefdex/block/1', encoder_id, embedder, *chunk_ids)}.parquet"


def block_table(chunk_ids: Sequence[str], texts: Sequence[str], embeddings: Float16) -> pa.Table:
    """Return a block of chunks as a table.

    Args:
        chunk_ids: n ids.
        texts: n texts.
        embeddings: float16, (n, dim).
    """
    flat = pa.array(embeddings.reshape(-1), type=pa.float16())
    column = pa.FixedSizeListArray.from_arrays(flat, embeddings.shape[1])
    return pa.table([pa.array(chunk_ids), pa.array(texts), column], names=list(CHUNKS))


def chunk_ids(table: pa.Table) -> Bytes:
    """Return the ids of a block: bytes, (n,)."""
    return np.array(table["chunk_id"].to_pylist(), dtype=np.bytes_)


def embeddings(table: pa.Table) -> Float16:
    """Return the embeddings of a block: float16, (n, dim)."""
    column = table["embedding"].combine_chunks()
    return np.asarray(column.flatten()).reshape(len(column), -1)
