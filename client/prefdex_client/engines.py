"""Exact inner-product search over a matrix: numpy, or FAISS for large bundles. Both give the same results.

numpy is the default for what a person's bundle usually holds: up to some thousands of vectors a search takes less than
a tenth of a millisecond with either, and FAISS takes 23 MB of memory when it is loaded.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, Protocol

import numpy as np

from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.vectors import Float32

EngineName = Literal["auto", "numpy", "faiss"]

_SPARE = 8

FAISS_FROM = 4_096
"""From so many vectors on FAISS is chosen, where it is installed."""


class SearchEngine(Protocol):
    """Finds the rows of a matrix with the greatest inner products."""

    def search(self, query: Float32, k: int) -> list[tuple[int, float]]:
        """Return up to k (row, inner product), greatest first; of equal ones the first rows.

        Args:
            query: float32, (dim,).
            k: How many, at least 1.
        """
        ...


class NumpyEngine:
    """A matrix product.

    Args:
        vectors: float32, (n, dim).
    """

    def __init__(self, vectors: Float32) -> None:
        self._vectors = vectors

    def search(self, query: Float32, k: int) -> list[tuple[int, float]]:
        """Return the k best rows; see `SearchEngine`."""
        scores = self._vectors @ query
        rows = np.arange(len(scores))
        if k < len(scores):
            # All that is no worse than the k-th best, so that ties are decided by row below.
            rows = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
        return _best_first(rows.tolist(), scores[rows].tolist(), k)


class FaissEngine:
    """A FAISS flat index, built here: a serialized index is never read.

    Args:
        vectors: float32, (n, dim).

    Raises:
        MissingExtraError: FAISS is not installed.
    """

    def __init__(self, vectors: Float32) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise MissingExtraError("faiss", "client") from error
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        if len(vectors):
            self._index.add(vectors)

    def search(self, query: Float32, k: int) -> list[tuple[int, float]]:
        """Return the k best rows; see `SearchEngine`."""
        n = int(self._index.ntotal)
        if not n:
            return []
        wanted = min(k + _SPARE, n)
        while True:
            scores, rows = self._index.search(query[None], wanted)
            # Which of equal rows FAISS leaves out is not said: ask on until the last one is worse than the k-th.
            if wanted == n or scores[0][k - 1] > scores[0][-1]:
                return _best_first(rows[0].tolist(), scores[0].tolist(), k)
            wanted = min(2 * wanted, n)


def make_engine(vectors: Float32, name: EngineName = "auto") -> SearchEngine:
    """Return an engine over vectors.

    Args:
        vectors: float32, (n, dim).
        name: `numpy`, `faiss`, or `auto`: by the number of vectors.

    Raises:
        ConfigurationError: There is no such engine.
        MissingExtraError: FAISS is asked for and not installed.
    """
    if name == "auto":
        name = "faiss" if len(vectors) >= FAISS_FROM and find_spec("faiss") else "numpy"
    if name == "numpy":
        return NumpyEngine(vectors)
    if name == "faiss":
        return FaissEngine(vectors)
    raise ConfigurationError(f"There is no search engine {name!r}.", hint="Use auto, numpy or faiss.")


def _best_first(rows: list[int], scores: list[float], k: int) -> list[tuple[int, float]]:
    return sorted(zip(rows, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))[:k]
