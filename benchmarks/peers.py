"""What a developer would pick instead: an index of every chunk, searched with the question as it is asked."""

from __future__ import annotations

from typing import Protocol

import apsw
import faiss
import numpy as np
import sqlite_vec
from usearch.index import Index

from prefdex_shared.vectors import Float32


class Peer(Protocol):
    """An index of vectors."""

    def search(self, question: Float32, k: int) -> list[int]:
        """Return the k nearest rows."""
        ...


class Numpy:
    """A matrix product.

    Args:
        vectors: float32, (n, dim), L2-normalized.
    """

    def __init__(self, vectors: Float32) -> None:
        self._vectors = vectors

    def search(self, question: Float32, k: int) -> list[int]:
        """Return the k nearest rows."""
        scores = self._vectors @ question
        best = np.argpartition(-scores, k)[:k]
        return [int(row) for row in best[np.argsort(-scores[best])]]


class FaissFlat:
    """FAISS, exact.

    Args:
        vectors: float32, (n, dim), L2-normalized.
    """

    def __init__(self, vectors: Float32) -> None:
        self._index = faiss.IndexFlatIP(vectors.shape[1])
        self._index.add(vectors)

    def search(self, question: Float32, k: int) -> list[int]:
        """Return the k nearest rows."""
        return [int(row) for row in self._index.search(question[None], k)[1][0]]


class SqliteVec:
    """sqlite-vec, in memory.

    Args:
        vectors: float32, (n, dim), L2-normalized.
    """

    def __init__(self, vectors: Float32) -> None:
        self._db = apsw.Connection(":memory:")  # not every Python's own sqlite3 loads extensions
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.execute(f"create virtual table chunks using vec0(vector float[{vectors.shape[1]}])")
        with self._db:
            rows = ((number, vector.tobytes()) for number, vector in enumerate(vectors))
            self._db.executemany("insert into chunks(rowid, vector) values (?, ?)", rows)

    def search(self, question: Float32, k: int) -> list[int]:
        """Return the k nearest rows."""
        sql = "select rowid from chunks where vector match ? and k = ? order by distance"
        return [row for (row,) in self._db.execute(sql, (question.tobytes(), k))]


class Usearch:
    """usearch, an approximate graph.

    Args:
        vectors: float32, (n, dim), L2-normalized.
    """

    def __init__(self, vectors: Float32) -> None:
        self._index = Index(ndim=vectors.shape[1], metric="ip")
        self._index.add(np.arange(len(vectors)), vectors)

    def search(self, question: Float32, k: int) -> list[int]:
        """Return the k nearest rows."""
        return [int(row) for row in self._index.search(question, k).keys]


PEERS: dict[str, type[Peer]] = {
    "numpy": Numpy,
    "FAISS flat": FaissFlat,
    "sqlite-vec": SqliteVec,
    "usearch": Usearch,
}
