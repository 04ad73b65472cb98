"""filter: blocks of chunks x preferences -> candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from prefdex_shared.filtering import Candidate, FilterConfig, filter_block, merge
from prefdex_shared.ids import ChunkId
from prefdex_shared.vectors import Float16

from ..cluster.stage import ONE_CPU, Call, Resources
from ..workspace import Workspace
from ..workspace.corpus import embeddings

_CANDIDATES = pa.schema([("preference", pa.int64()), ("chunk_id", pa.string()), ("similarity", pa.float64())])


def filter_blocks(
    blocks: Iterable[pa.Table], preferences: Float16, config: FilterConfig, dead: frozenset[str] = frozenset()
) -> list[list[Candidate]]:
    """Find the candidates in some blocks.

    Args:
        blocks: Tables with `chunk_id` and `embedding`.
        preferences: float16, (m, dim), L2-normalized.
        config: Threshold and caps.
        dead: Chunks that no document holds any more.

    Returns:
        For each preference its candidates, best first.
    """
    parts = []
    for table in blocks:
        chunk_ids = [ChunkId(chunk_id) for chunk_id in table["chunk_id"].to_pylist()]
        vectors = embeddings(table)
        if dead:
            live = [row for row, chunk_id in enumerate(chunk_ids) if chunk_id not in dead]
            chunk_ids, vectors = [chunk_ids[row] for row in live], vectors[live]
        parts.append(filter_block(chunk_ids, vectors, preferences, config))
    return [merge((part[index] for part in parts), config) for index in range(len(preferences))]


def merge_tables(tables: Iterable[pa.Table], n_preferences: int, config: FilterConfig) -> list[list[Candidate]]:
    """Merge what workers found, in any order."""
    found: list[list[Candidate]] = [[] for _ in range(n_preferences)]
    for table in tables:
        columns = (table[name].to_pylist() for name in _CANDIDATES.names)
        for preference, chunk_id, similarity in zip(*columns, strict=True):
            found[preference].append(Candidate(-similarity, ChunkId(chunk_id)))
    return [merge([candidates], config) for candidates in found]


@dataclass(frozen=True, slots=True)
class FilterStage:
    """Filters blocks on a worker, which reads them from the workspace.

    Attributes:
        workspace: Where blocks are stored.
        preferences: float16, (m, dim), L2-normalized.
        config: Threshold and caps.
        dead: Chunks that no document holds any more.
    """

    workspace: Workspace
    preferences: Float16
    config: FilterConfig
    dead: frozenset[str] = field(default_factory=frozenset)
    name: str = "filter"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        """Nothing is loaded."""

        def call(names: pa.Table) -> pa.Table:
            chunks = self.workspace.corpus.chunks
            blocks = (chunks.read_table(name, ["chunk_id", "embedding"]) for name in names["block"].to_pylist())
            return _table(filter_blocks(blocks, self.preferences, self.config, self.dead))

        return call


def _table(found: Sequence[Sequence[Candidate]]) -> pa.Table:
    rows = [
        {"preference": index, "chunk_id": candidate.chunk_id, "similarity": candidate.similarity}
        for index, candidates in enumerate(found)
        for candidate in candidates
    ]
    return pa.Table.from_pylist(rows, schema=_CANDIDATES)
