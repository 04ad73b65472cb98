"""`corpus add`: read -> chunk -> embed -> snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import pyarrow as pa

from prefdex_shared.chunking import ChunkConfig
from prefdex_shared.encoder import open_encoder
from prefdex_shared.errors import BuildError, ConfigurationError
from prefdex_shared.ids import chunk_id

from .cluster import Session
from .config import CorpusConfig
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
    config: CorpusConfig | None = None,
) -> AddReport:
    """Add documents to the corpus of a workspace as a new snapshot.

    Args:
        workspace: The workspace.
        sources: Files, folders, globs or `s3://` prefixes.
        encoder: Location of the encoder.
        session: Where stages run.
        progress: Shows how far it is.
        config: Sizes of chunks, and what embeds.

    Raises:
        CorpusError: There is nothing to read.
        ConfigurationError: The workspace's corpus was made with other settings, or another build works on it.
    """
    with workspace.locked() as lease:
        adder = _Adder(workspace, encoder, config or CorpusConfig(), session, Stopwatch(progress, lease.check))
        return adder.add(sources)


def count_new_chunks(
    workspace: Workspace,
    sources: Sequence[str],
    *,
    encoder: str,
    session: Session,
    progress: Progress,
    config: CorpusConfig | None = None,
) -> int:
    """Return how many chunks `add_corpus` would embed. Nothing is changed."""
    adder = _Adder(workspace, encoder, config or CorpusConfig(), session, Stopwatch(progress))
    return len(adder.new_chunks(workspace.corpus.current(), adder.read(sources)[0]))


class _Adder:
    """Adds to a corpus.

    Args:
        workspace: The workspace.
        encoder: Location of the encoder.
        config: Settings.
        session: Where stages run.
        watch: Shows how far it is.
    """

    def __init__(
        self, workspace: Workspace, encoder: str, config: CorpusConfig, session: Session, watch: Stopwatch
    ) -> None:
        loaded = open_encoder(encoder)
        self._workspace, self._encoder, self._encoder_id = workspace, encoder, loaded.id
        self._embedder, self._session, self._watch = config.embedder, session, watch
        chunking = ChunkConfig(target_words=config.target_words)
        self._chunking = replace(chunking, max_tokens=min(chunking.max_tokens, loaded.max_tokens))

    def add(self, sources: Sequence[str]) -> AddReport:
        before = self._workspace.corpus.current()
        collected, n_files, n_skipped = self.read(sources)
        new_blocks, n_new = self._embed(self.new_chunks(before, collected), collected.chunks)
        report = AddReport(
            snapshot=before.number + 1,
            files=n_files,
            skipped_files=n_skipped,
            documents=len(collected.documents),
            chunks=len(collected.chunks),
            new_chunks=n_new,
            faults=dict(sorted(collected.faults.items())),
            examples=tuple(collected.examples),
            seconds=self._watch.seconds,
        )
        ids = self._encoder_id, self._chunking.id
        return _commit(self._workspace.corpus, before, collected, new_blocks, *ids, report)

    def read(self, sources: Sequence[str]) -> tuple[_Collected, int, int]:
        """Return what the sources hold, and the numbers of files that were read and that are of no kind that is."""
        _check_settings(self._workspace.corpus.current(), self._encoder_id, self._chunking.id)
        files, skipped = find(sources, exclude=self._workspace.folder)
        blocks = [files_table({number: file}) for number, file in enumerate(files)]
        tables = []
        with self._watch.stage("read", len(blocks)) as advance:
            for table in self._session.run(ReadStage(self._encoder, self._chunking), blocks):
                tables.append(table)
                advance(1)
        collected = _collect(tables)
        if not collected.documents:
            raise BuildError(
                f"None of the records in {len(files)} files is a document: {_first(collected)}.",
                hint="A JSONL record needs at least a 'text'.",
            )
        return collected, len(files), len(skipped)

    def new_chunks(self, before: Snapshot, collected: _Collected) -> list[str]:
        """Return the ids of the chunks that have no embedding yet."""
        return sorted(set(collected.chunks) - self._workspace.corpus.known_chunks(before))

    def _embed(self, new: Sequence[str], texts: Mapping[str, str]) -> tuple[list[str], int]:
        """Embed chunks; blocks that an earlier, unfinished run stored are not made again."""
        stored = self._workspace.corpus.chunks
        parts = [new[start : start + CHUNKS_PER_BLOCK] for start in range(0, len(new), CHUNKS_PER_BLOCK)]
        names = [block_name(part, self._encoder_id, self._embedder) for part in parts]
        missing = [part for part, name in zip(parts, names, strict=True) if not stored.exists(name)]
        blocks = [pa.table({"chunk_id": part, "text": [texts[key] for key in part]}) for part in missing]
        with self._watch.stage("embed", len(new)) as advance:
            advance(len(new) - sum(map(len, missing)))
            for done in self._session.run(EmbedStage(self._encoder, self._workspace, self._embedder), blocks):
                advance(sum(done["n_chunks"].to_pylist()))
        return names, len(new)


def _collect(tables: Sequence[pa.Table]) -> _Collected:
    """Take the records in the order of files and positions, whichever worker was first."""
    collected = _Collected()
    whole = pa.concat_tables(tables).sort_by([("file_number", "ascending"), ("position", "ascending")])
    for batch in whole.to_batches():
        for row in batch.to_pylist():
            collected.add(row)
    return collected


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
