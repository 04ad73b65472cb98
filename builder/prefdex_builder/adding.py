"""`corpus add`: read -> chunk -> embed -> snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

import pyarrow as pa

from prefdex_shared.chunking import ChunkConfig
from prefdex_shared.encoder import open_encoder
from prefdex_shared.errors import BuildError, ConfigurationError
from prefdex_shared.ids import chunk_id

from .cluster import Session
from .corpus import find
from .corpus.readers import NOTES
from .progress import Progress, Stopwatch
from .report import MAX_EXAMPLES, AddReport
from .stages import EmbedStage, ReadStage
from .stages.read import files_table
from .workspace import CorpusStore, Snapshot, Workspace
from .workspace.corpus import CHUNKS_PER_BLOCK, DOCUMENTS, block_name


@dataclass(slots=True)
class _Collected:
    """What the files held, duplicates taken out."""

    documents: dict[str, dict[str, object]] = field(default_factory=dict)
    chunks: dict[str, str] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, row: dict[str, object]) -> None:
        kinds = list(row["faults"])  # type: ignore[call-overload]
        is_document = not set(kinds) - NOTES
        document_id = str(row["document_id"])
        if is_document and document_id in self.documents:
            kinds.append("duplicate_id")
        elif is_document:
            self._take(document_id, row)
        for kind in kinds:
            self.faults[kind] += 1
            if len(self.examples) < MAX_EXAMPLES:
                self.examples.append(f"{row['file']}:{row['position']} {kind} {document_id}".rstrip())

    def _take(self, document_id: str, row: dict[str, object]) -> None:
        texts: dict[str, str] = {chunk_id(text): text for text in row["chunks"]}  # type: ignore[attr-defined]
        self.chunks.update(texts)
        self.documents[document_id] = {
            "document_id": document_id,
            "title": row["title"],
            "source": row["source"],
            "chunk_ids": list(texts),
        }


def add_corpus(
    workspace: Workspace,
    sources: Sequence[str],
    *,
    encoder: str,
    session: Session,
    progress: Progress,
    chunking: ChunkConfig | None = None,
) -> AddReport:
    """Add documents to the corpus of a workspace as a new snapshot.

    Args:
        workspace: The workspace.
        sources: Files, folders, globs or `s3://` prefixes.
        encoder: Location of the encoder.
        session: Where stages run.
        progress: Shows how far it is.
        chunking: Sizes of chunks; the token cap is lowered to the encoder's.

    Raises:
        CorpusError: There is nothing to read.
        ConfigurationError: The workspace's corpus was made with other settings, or another build works on it.
    """
    loaded = open_encoder(encoder)
    config = chunking or ChunkConfig()
    config = replace(config, max_tokens=min(config.max_tokens, loaded.max_tokens))
    with workspace.locked() as lease:
        return _add(workspace, sources, encoder, loaded.id, config, session, Stopwatch(progress, lease.check))


def _add(
    workspace: Workspace,
    sources: Sequence[str],
    encoder: str,
    encoder_id: str,
    config: ChunkConfig,
    session: Session,
    watch: Stopwatch,
) -> AddReport:
    store = workspace.corpus
    before = store.current()
    _check_settings(before, encoder_id, config.id)
    files, skipped = find(sources, exclude=workspace.folder)

    blocks = [files_table({number: file}) for number, file in enumerate(files)]
    tables = []
    with watch.stage("read", len(blocks)) as advance:
        for table in session.run(ReadStage(encoder, config), blocks):
            tables.append(table)
            advance(1)
    collected = _collect(tables)
    if not collected.documents:
        raise BuildError(
            f"None of the records in {len(files)} files is a document: {_first(collected)}.",
            hint="A JSONL record needs at least a 'text'.",
        )
    new_blocks, n_new = _embed(workspace, before, collected.chunks, encoder_id, encoder, session, watch)
    report = AddReport(
        snapshot=before.number + 1,
        files=len(files),
        skipped_files=len(skipped),
        documents=len(collected.documents),
        chunks=len(collected.chunks),
        new_chunks=n_new,
        faults=dict(sorted(collected.faults.items())),
        examples=tuple(collected.examples),
        seconds=watch.seconds,
    )
    return _commit(store, before, collected, new_blocks, encoder_id, config.id, report)


def _collect(tables: Sequence[pa.Table]) -> _Collected:
    """Take the records in the order of files and positions, whichever worker was first."""
    collected = _Collected()
    whole = pa.concat_tables(tables).sort_by([("file_number", "ascending"), ("position", "ascending")])
    for batch in whole.to_batches():
        for row in batch.to_pylist():
            collected.add(row)
    return collected


def _embed(
    workspace: Workspace,
    before: Snapshot,
    chunks: dict[str, str],
    encoder_id: str,
    encoder: str,
    session: Session,
    watch: Stopwatch,
) -> tuple[list[str], int]:
    """Embed the chunks that have no embedding yet; blocks that an earlier, unfinished run stored are not made again."""
    new = sorted(set(chunks) - workspace.corpus.known_chunks(before))
    parts = [new[start : start + CHUNKS_PER_BLOCK] for start in range(0, len(new), CHUNKS_PER_BLOCK)]
    names = [block_name(part, encoder_id) for part in parts]
    missing = [part for part, name in zip(parts, names, strict=True) if not workspace.corpus.chunks.exists(name)]
    blocks = [pa.table({"chunk_id": part, "text": [chunks[key] for key in part]}) for part in missing]
    with watch.stage("embed", len(new)) as advance:
        advance(len(new) - sum(map(len, missing)))
        for done in session.run(EmbedStage(encoder, workspace), blocks):
            advance(sum(done["n_chunks"].to_pylist()))
    return names, len(new)


def _commit(
    store: CorpusStore,
    before: Snapshot,
    collected: _Collected,
    new_blocks: list[str],
    encoder_id: str,
    chunker_id: str,
    report: AddReport,
) -> AddReport:
    rows = [collected.documents[document_id] for document_id in sorted(collected.documents)]
    name = store.add_documents(pa.Table.from_pylist(rows, schema=DOCUMENTS))
    if name in before.documents[-1:] and not new_blocks:
        return replace(report, snapshot=before.number)
    documents = (*before.documents, name)
    snapshot = Snapshot(report.snapshot, encoder_id, chunker_id, documents, (*before.blocks, *new_blocks))
    store.commit(snapshot, asdict(report))
    return report


def _check_settings(before: Snapshot, encoder_id: str, chunker_id: str) -> None:
    if before.number and (before.encoder_id, before.chunker_id) != (encoder_id, chunker_id):
        what = "encoder" if before.encoder_id != encoder_id else "chunk sizes"
        raise ConfigurationError(
            f"The workspace's corpus was made with another {what}.", hint="Use the same, or another workspace."
        )


def _first(collected: _Collected) -> str:
    return collected.examples[0] if collected.examples else "they are empty"
