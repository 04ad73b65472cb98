"""The coarse filter (paper, section 3.1): which chunks are near which preferences.

A block of chunks is compared with all preferences by one float32 matrix product, which only preselects, with a
margin; what it lets through is decided on the canonical similarity. Candidates of several blocks merge into the same
result in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .errors import ConfigurationError
from .ids import ChunkId
from .shard import MAX_ENTRIES
from .vectors import Float16, Float32, Float64, Mask, Rows, similarities

# Error of a float32 product of unit vectors with a few thousand components, plus half a step of rounding.
_PRESELECTION_MARGIN = 1e-3


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


class Candidate(NamedTuple):
    """A chunk near a preference; sorts best first, ties by chunk id."""

    cost: float
    chunk_id: ChunkId

    @property
    def similarity(self) -> float:
        """Canonical cosine similarity."""
        return -self.cost


def filter_block(
    chunk_ids: Sequence[ChunkId], vectors: Float16, preferences: Float16, config: FilterConfig
) -> list[list[Candidate]]:
    """Find the candidates of one block of chunks.

    Args:
        chunk_ids: n ids.
        vectors: float16, (n, dim), L2-normalized.
        preferences: float16, (m, dim), L2-normalized.
        config: Threshold and caps.

    Returns:
        For each preference its candidates in this block, best first.
    """
    if not len(chunk_ids):
        return [[] for _ in preferences]
    rough = preferences.astype(np.float32) @ vectors.astype(np.float32).T
    near = _preselect(rough, config)
    return [
        _best(_candidates(chunk_ids, vectors, preference, np.flatnonzero(row)), config)
        for preference, row in zip(preferences, near, strict=True)
    ]


def merge(parts: Iterable[Sequence[Candidate]], config: FilterConfig) -> list[Candidate]:
    """Merge the candidates of one preference from several blocks, in any order of the blocks."""
    return _best([candidate for part in parts for candidate in part], config)


def _preselect(rough: Float32, config: FilterConfig) -> Mask:
    wanted = (rough >= config.tau - _PRESELECTION_MARGIN) | _among_best(rough, config.min_candidates)
    return wanted & _among_best(rough, config.max_candidates)


def _among_best(rough: Float32, n: int) -> Mask:
    """Mark in each row what could be among the n largest, once decided exactly."""
    if n == 0 or n >= rough.shape[1]:
        return np.full(rough.shape, n > 0)
    nth_largest = np.partition(rough, -n, axis=1)[:, [-n]]
    marked: Mask = rough >= nth_largest - 2 * _PRESELECTION_MARGIN
    return marked


def _candidates(chunk_ids: Sequence[ChunkId], vectors: Float16, preference: Float16, rows: Rows) -> list[Candidate]:
    exact: Float64 = similarities(vectors[rows], preference)
    return [Candidate(-float(value), chunk_ids[row]) for value, row in zip(exact, rows, strict=True)]


def _best(candidates: list[Candidate], config: FilterConfig) -> list[Candidate]:
    candidates = sorted(candidates)
    n_near = sum(candidate.similarity >= config.tau for candidate in candidates)
    return candidates[: min(config.max_candidates, max(n_near, config.min_candidates))]
