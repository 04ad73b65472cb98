"""Candidates: pairs of a preference and a chunk near it, by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .ids import ChunkId
from .vectors import SIMILARITY_DIGITS, Bytes, Float64, Int64, Mask, Rows

_STEPS = 1 << 15
"""More than the similarities that there are."""

_START = 8


class Candidate(NamedTuple):
    """A chunk near a preference.

    Attributes:
        chunk_id: The chunk.
        similarity: Canonical cosine similarity.
    """

    chunk_id: ChunkId
    similarity: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs, by column.

    Attributes:
        preferences: int, (k,): rows of preferences.
        similarities: float64, (k,): canonical cosine similarities.
        chunk_ids: bytes, (k,): ids of chunks.
    """

    preferences: Rows
    similarities: Float64
    chunk_ids: Bytes

    @classmethod
    def none(cls) -> Candidates:
        """Return no candidates."""
        return cls(np.zeros(0, dtype=np.intp), np.zeros(0), np.zeros(0, dtype="S1"))

    @classmethod
    def of(cls, lists: Sequence[Sequence[Candidate]]) -> Candidates:
        """Return the candidates of preferences that are given as lists."""
        pairs = [pair for each in lists for pair in each]
        return cls(
            np.repeat(np.arange(len(lists)), [len(each) for each in lists]),
            np.array([pair.similarity for pair in pairs], dtype=np.float64),
            np.array([pair.chunk_id for pair in pairs], dtype=np.bytes_),
        )

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return the candidates of several parts."""
        columns = ([getattr(part, name) for part in parts] for name in cls.__slots__)
        return cls(*map(np.concatenate, columns))

    def __len__(self) -> int:
        return len(self.preferences)

    def only(self, which: Rows | Mask) -> Candidates:
        """Return some of them."""
        return Candidates(self.preferences[which], self.similarities[which], self.chunk_ids[which])

    def counts(self, m: int) -> Int64:
        """Return how many each of m preferences has: int64, (m,)."""
        return np.bincount(self.preferences, minlength=m)

    def ranked(self) -> Candidates:
        """Return them by preference, best first, ties by chunk id."""
        # Similarities are multiples of 1e-4 in [-1, 1], so a whole number says preference and similarity.
        keys = self.preferences * _STEPS + np.rint((1 - self.similarities) * 10**SIMILARITY_DIGITS).astype(np.int64)
        order = np.argsort(keys)
        keys = keys[order]
        follows = keys[1:] == keys[:-1]
        tied = np.zeros(len(keys), dtype=bool)
        tied[1:] |= follows
        tied[:-1] |= follows
        order[tied] = order[tied][_order_of_ties(keys[tied], self.chunk_ids[order[tied]])]
        return self.only(order)

    def best(self, tau: float, at_least: int, at_most: int) -> Candidates:
        """Return, of ranked ones, those of at least tau, but of each preference at least and at most some."""
        counts = self.counts(0)
        ranks = np.arange(len(self)) - (np.cumsum(counts) - counts)[self.preferences]
        return self.only(((self.similarities >= tau) | (ranks < at_least)) & (ranks < at_most))

    def lists(self, m: int) -> list[list[Candidate]]:
        """Return ranked ones as a list for each of m preferences."""
        ends = np.cumsum(self.counts(m)).tolist()
        ids = map(ChunkId, np.char.decode(self.chunk_ids, "ascii").tolist())
        pairs = list(map(Candidate, ids, self.similarities.tolist()))
        return [pairs[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _order_of_ties(keys: Int64, chunk_ids: Bytes) -> Rows:
    """Return the order by key, then by id."""
    # Strings are slow to sort, and their first bytes nearly always decide.
    starts = chunk_ids.astype(f"S{_START}").view(f">u{_START}").astype(np.uint64)
    order = np.lexsort((starts, keys))
    same = (np.diff(keys[order]) == 0) & (np.diff(starts[order]) == 0)
    return np.lexsort((chunk_ids, keys)) if same.any() else order
