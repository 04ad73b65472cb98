"""The coarse filter (paper, section 3.1): a similarity join of all preferences with a stream of chunks.

Blocks of chunks are compared with all preferences by float32 matrix products, which only preselect, with a margin; what
they let through is decided on the canonical similarity. Of each preference only the best candidates so far are held, so
memory does not grow with the corpus, and the worst of them raises the bar for what comes. Blocks may come in any order,
and joins of parts of a corpus merge into the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .candidates import Candidate, Candidates
from .errors import ConfigurationError
from .ids import ChunkId
from .preselection import MARGIN, NumpyPreselector, Preselector
from .shard import MAX_ENTRIES
from .vectors import Bytes, Float16, Float32, Float64, Rows, canonical, widen

_PAIRS_AT_ONCE = 1_024
_SLACK = 1 << 15
"""Candidates that may be held beside twice those that the last pruning left, before the next one."""


@dataclass(frozen=True, slots=True)
class FilterConfig:
    """Which pairs become candidates.

    Attributes:
        tau: Keep a pair whose cosine similarity is at least this.
        max_candidates: At most this many of the best per preference.
        min_candidates: At least this many of the best per preference, below tau if need be.
    """

    tau: float = 0.25
    max_candidates: int = 1000
    min_candidates: int = 0

    def __post_init__(self) -> None:
        if not -1 <= self.tau <= 1:
            raise ConfigurationError(f"tau is a cosine similarity between -1 and 1, not {self.tau}.")
        if not 0 <= self.min_candidates <= self.max_candidates <= MAX_ENTRIES:
            raise ConfigurationError(f"It must be 0 <= min_candidates <= max_candidates <= {MAX_ENTRIES}.")


class SimilarityJoin:
    """Collects the candidates of preferences, block by block of chunks.

    Args:
        preferences: float16, (m, dim), L2-normalized.
        config: Threshold and caps.
        preselector: What preselects; numpy by default.
    """

    def __init__(self, preferences: Float16, config: FilterConfig, preselector: Preselector | None = None) -> None:
        self._config = config
        self._preferences = widen(preferences)
        self._preselector = preselector or NumpyPreselector(self._preferences)
        self._held = Candidates.none()
        self._after_pruning = 0
        self._bars = np.full(len(preferences), config.tau)
        # Those of which fewer than `min_candidates` are held: whatever is best may be wanted.
        self._starving = np.full(len(preferences), config.min_candidates > 0)

    def add(self, chunk_ids: Bytes, vectors: Float16) -> None:
        """Compare a block of chunks with all preferences.

        Args:
            chunk_ids: bytes, (n,): ids.
            vectors: float16, (n, dim), L2-normalized.
        """
        if not len(chunk_ids) or not len(self._preferences):
            return
        rows, preferences = self._preselector.near(vectors, self._floors(vectors))
        similarities = self._decide(vectors, rows, preferences)
        wanted = (similarities >= self._bars[preferences]) | self._starving[preferences]
        self.hold(Candidates(preferences[wanted], similarities[wanted], chunk_ids[rows[wanted]]))

    def hold(self, candidates: Candidates) -> None:
        """Take candidates of another part of the corpus."""
        self._held = Candidates.joined([self._held, candidates])
        if len(self._held) > 2 * self._after_pruning + _SLACK or self._starving.any():
            self._prune()

    def candidates(self) -> Candidates:
        """Return the candidates: by preference, best first, ties by chunk id."""
        return self._held.ranked().best(self._config.tau, self._config.min_candidates, self._config.max_candidates)

    def _floors(self, vectors: Float16) -> Float32:
        """Return below which product a pair of this block cannot be wanted."""
        floors = (self._bars - MARGIN).astype(np.float32)
        n = self._config.min_candidates
        if self._starving.any() and len(vectors) > n:
            products = self._preferences[self._starving] @ widen(vectors).T
            nth_best = np.partition(products, -n, axis=1)[:, -n]
            floors[self._starving] = np.minimum(self._config.tau - MARGIN, nth_best - 2 * MARGIN)
        elif self._starving.any():
            floors[self._starving] = -np.inf
        return floors

    def _decide(self, vectors: Float16, rows: Rows, preferences: Rows) -> Float64:
        """Return the canonical similarities of some pairs."""
        products = np.empty(len(rows))
        for at in range(0, len(rows), _PAIRS_AT_ONCE):
            part = slice(at, at + _PAIRS_AT_ONCE)
            # Two float16's product has 22 bits: it is exact in float32, and so is the sum in float64.
            terms = widen(vectors[rows[part]]) * self._preferences[preferences[part]]
            products[part] = terms.sum(axis=1, dtype=np.float64)
        return canonical(products)

    def _prune(self) -> None:
        """Drop what can no longer be a candidate, and raise the bars."""
        at_least, at_most = self._config.min_candidates, self._config.max_candidates
        self._held = self._held.ranked().best(self._config.tau, at_least, at_most)
        self._after_pruning = len(self._held)
        counts = self._held.counts(len(self._bars))
        starts = np.cumsum(counts) - counts
        self._starving = counts < at_least
        if at_least:
            fed = ~self._starving
            self._bars[fed] = np.minimum(self._config.tau, self._held.similarities[starts[fed] + at_least - 1])
        if at_most:
            full = counts >= at_most
            worst = self._held.similarities[starts[full] + at_most - 1]
            self._bars[full] = np.maximum(self._bars[full], worst)


def filter_block(
    chunk_ids: Sequence[ChunkId], vectors: Float16, preferences: Float16, config: FilterConfig
) -> list[list[Candidate]]:
    """Find the candidates among chunks that are all there.

    Args:
        chunk_ids: n ids.
        vectors: float16, (n, dim), L2-normalized.
        preferences: float16, (m, dim), L2-normalized.
        config: Threshold and caps.

    Returns:
        For each preference its candidates, best first.
    """
    join = SimilarityJoin(preferences, config)
    join.add(np.array(chunk_ids, dtype=np.bytes_), vectors)
    return join.candidates().lists(len(preferences))
