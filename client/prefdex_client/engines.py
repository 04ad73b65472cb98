"""Ranking the entries: by numpy, or by a FAISS index. Both give the same results.

Steering needs the question's similarity to every entry, so that all scores are known when the ranking begins, and numpy
has only to pick the best. FAISS ranks by a search of its own, over vectors with one more component per preference,
1 for its own: the inner product with (q~, tag scores) is then the whole score.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.steering import SteeredQuestion
from prefdex_shared.vectors import Float32, Rows

EngineName = Literal["numpy", "faiss"]

_SPARE = 8


class SearchEngine(Protocol):
    """Finds the entries with the greatest scores."""

    def best(self, steered: SteeredQuestion, scores: Float32, k: int) -> list[int]:
        """Return up to k rows, the greatest score first; of equal ones the first rows.

        Args:
            steered: The steered question.
            scores: float32, (n,): every entry's score.
            k: How many, at least 1.
        """
        ...


class NumpyEngine:
    """Picks the best of the scores that are known."""

    def best(self, steered: SteeredQuestion, scores: Float32, k: int) -> list[int]:
        """Return the k best rows; see `SearchEngine`."""
        del steered
        if k >= len(scores):
            order: list[int] = (-scores).argsort(kind="stable").tolist()
            return order
        # All that is no worse than the k-th best, so that ties are decided by row.
        (rows,) = (scores >= np.partition(scores, -k)[-k]).nonzero()
        best: list[int] = rows[(-scores[rows]).argsort(kind="stable")][:k].tolist()
        return best


class FaissEngine:
    """A FAISS flat index, built here: a serialized index is never read.

    Args:
        vectors: float32, (n, dim).
        tags: int, (n,): the row of each entry's preference.
        n_tags: Number of preferences.

    Raises:
        MissingExtraError: FAISS is not installed.
    """

    def __init__(self, vectors: Float32, tags: Rows, n_tags: int) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise MissingExtraError("faiss", "faiss") from error
        rows = np.zeros((len(vectors), vectors.shape[1] + n_tags), dtype=np.float32)
        rows[:, : vectors.shape[1]] = vectors
        rows[np.arange(len(vectors)), vectors.shape[1] + tags] = 1.0
        self._index = faiss.IndexFlatIP(rows.shape[1])
        if len(rows):
            self._index.add(rows)

    def best(self, steered: SteeredQuestion, scores: Float32, k: int) -> list[int]:
        """Return the k best rows; see `SearchEngine`."""
        n = int(self._index.ntotal)
        query = np.concatenate([steered.vector, steered.tag_scores])[None]
        wanted = min(k + _SPARE, n)
        while wanted:
            found, rows = self._index.search(query, wanted)
            # Which of equal rows FAISS leaves out is not said: ask on until the last one is worse than the k-th.
            if wanted == n or found[0][k - 1] > found[0][-1]:
                break
            wanted = min(2 * wanted, n)
        else:
            return []
        return sorted(rows[0].tolist(), key=lambda row: (-scores[row], row))[:k]


def make_engine(vectors: Float32, tags: Rows, n_tags: int, name: EngineName) -> SearchEngine:
    """Return an engine over entries.

    Args:
        vectors: float32, (n, dim).
        tags: int, (n,): the row of each entry's preference.
        n_tags: Number of preferences.
        name: `numpy` or `faiss`.

    Raises:
        ConfigurationError: There is no such engine.
        MissingExtraError: FAISS is asked for and not installed.
    """
    if name == "numpy":
        return NumpyEngine()
    if name == "faiss":
        return FaissEngine(vectors, tags, n_tags)
    raise ConfigurationError(f"There is no search engine {name!r}.", hint="Use numpy or faiss.")
