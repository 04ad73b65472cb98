"""The order of a shard's entries, best first, which is also the order in which a byte budget keeps them.

An entry's value is confidence times similarity times distinctness, where distinctness is one minus its greatest cosine
similarity to an entry before it. It depends on nothing outside the shard, so a shortened shard is the same for every
user. Cosines are computed from integers that float64 holds exactly, so the order is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .records import Entry
from .vectors import Float64, Int8

MAX_DISTINCT = 512
"""So many entries count for the distinctness of others: a bound on the work, far above what one answer shows."""


def order(entries: Sequence[Entry], codes: Int8) -> list[int]:
    """Return the indices of entries, best first.

    Each next entry is the one with the greatest value, given those chosen before it: maximal marginal relevance
    (Carbonell and Goldstein 1998) with a product in place of the sum. Ties go by similarity, then by chunk id.

    Args:
        entries: n entries of distinct chunks, in any order.
        codes: int8, (n, dim): the codes of their instructions' vectors, all of one step.
    """
    indices = sorted(range(len(entries)), key=lambda index: _plain_rank(entries[index]))
    vectors = _Cosines(codes[indices])
    relevance = _relevance([entries[index] for index in indices])
    nearest = np.zeros(len(indices))
    is_open = np.ones(len(indices), dtype=bool)
    chosen: list[int] = []
    for _ in range(min(len(indices), MAX_DISTINCT)):
        # The first of equals, and they stand in the order of ties.
        best = int(np.argmax(np.where(is_open, relevance * (1.0 - nearest), -1.0)))
        chosen.append(best)
        is_open[best] = False
        nearest = np.maximum(nearest, vectors.to(best))
    return [indices[at] for at in (*chosen, *np.flatnonzero(is_open).tolist())]


def values(entries: Sequence[Entry], codes: Int8) -> Float64:
    """Return the values of entries that stand in `order`: float64, (n,), in [0, 1].

    Args:
        entries: n entries, best first.
        codes: int8, (n, dim): the codes of their instructions' vectors, all of one step.
    """
    vectors = _Cosines(codes)
    nearest = np.zeros(len(entries))
    for row in range(min(len(entries), MAX_DISTINCT)):
        nearest[row + 1 :] = np.maximum(nearest[row + 1 :], vectors.to(row)[row + 1 :])
    return _relevance(entries) * (1.0 - nearest)


class _Cosines:
    def __init__(self, codes: Int8) -> None:
        self._codes = codes.astype(np.float64)
        norms: Float64 = np.sqrt(np.sum(self._codes**2, axis=1))
        self._norms = np.where(norms == 0, 1.0, norms)

    def to(self, row: int) -> Float64:
        """Return the cosine similarity of every vector to one of them: float64, (n,), at least 0."""
        products: Float64 = self._codes @ self._codes[row]
        cosines: Float64 = np.clip(products / (self._norms * self._norms[row]), 0.0, 1.0)
        return cosines


def _relevance(entries: Sequence[Entry]) -> Float64:
    return np.array([entry.confidence * max(entry.similarity, 0.0) for entry in entries], dtype=np.float64)


def _plain_rank(entry: Entry) -> tuple[float, float, str]:
    return -entry.confidence * max(entry.similarity, 0.0), -entry.similarity, entry.chunk_id
