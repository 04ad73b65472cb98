"""filter: blocks of chunks x preferences -> candidates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from prefdex_shared.candidates import Candidates
from prefdex_shared.filtering import FilterConfig, SimilarityJoin
from prefdex_shared.vectors import Bytes, Float16, widen

from ..cluster.stage import ONE_CPU, ONE_GPU, Call, Resources
from ..preselectors import open_preselector, runs_on_gpu
from ..workspace import Workspace
from ..workspace.corpus import chunk_ids, embeddings

NO_IDS: Bytes = np.zeros(0, dtype="S1")


def filter_blocks(blocks: Iterable[pa.Table], join: SimilarityJoin, dead: Bytes = NO_IDS) -> Candidates:
    """Find the candidates in some blocks.

    Args:
        blocks: Tables with `chunk_id` and `embedding`.
        join: A join that has seen nothing yet.
        dead: bytes, (d,): chunks that no document holds any more.
    """
    for table in blocks:
        ids, vectors = chunk_ids(table), embeddings(table)
        if len(dead):
            live = np.isin(ids, dead, invert=True)
            ids, vectors = ids[live], vectors[live]
        join.add(ids, vectors)
    return join.candidates()


def candidates_table(candidates: Candidates) -> pa.Table:
    """Return candidates as a table, to travel from a worker."""
    ids = pa.array(candidates.chunk_ids.tolist(), pa.binary())
    return pa.table(
        [candidates.preferences, ids, candidates.similarities], names=["preference", "chunk_id", "similarity"]
    )


def read_candidates(table: pa.Table) -> Candidates:
    """Return the candidates that travelled."""
    return Candidates(
        table["preference"].to_numpy(), table["similarity"].to_numpy(), np.array(table["chunk_id"].to_pylist(), "S")
    )


@dataclass(frozen=True, slots=True)
class FilterStage:
    """Filters blocks on a worker, which reads them from the workspace.

    Attributes:
        workspace: Where blocks are stored.
        preferences: float16, (m, dim), L2-normalized.
        config: Threshold and caps.
        dead: bytes, (d,): chunks that no document holds any more.
        engine: What does the products: `numpy`, `torch` or `faiss`.
    """

    workspace: Workspace
    preferences: Float16
    config: FilterConfig
    dead: Bytes = field(default_factory=lambda: NO_IDS)
    engine: str = "numpy"
    name: str = "filter"

    @property
    def resources(self) -> Resources:
        """A GPU for an engine that is made for them."""
        return ONE_GPU if runs_on_gpu(self.engine) else ONE_CPU

    def load(self) -> Call:
        """Open the engine."""
        preselector = open_preselector(self.engine, widen(self.preferences))

        def call(names: pa.Table) -> pa.Table:
            chunks = self.workspace.corpus.chunks
            blocks = (chunks.read_table(name, ["chunk_id", "embedding"]) for name in names["block"].to_pylist())
            join = SimilarityJoin(self.preferences, self.config, preselector)
            return candidates_table(filter_blocks(blocks, join, self.dead))

        return call
