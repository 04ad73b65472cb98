"""Products by FAISS: its search on a GPU where it was built for one, and else on the CPU, which serves tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from prefdex_shared.errors import MissingExtraError
from prefdex_shared.vectors import Float16, Float32, Rows, widen

_CHUNKS_AT_ONCE = 1 << 16
_FIRST_K, _MAX_K = 256, 2_048
"""How many neighbours are asked for; a GPU's search has no more than the latter."""


class FaissPreselector:
    """Preselects by nearest neighbours: of each preference the chunks above its floor, as many as there are.

    Args:
        preferences: float32, (m, dim).

    Raises:
        MissingExtraError: FAISS is not installed.
    """

    def __init__(self, preferences: Float32) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise MissingExtraError("faiss", "cluster") from error
        self._faiss: Any = faiss
        self._preferences = np.ascontiguousarray(preferences)
        self._gpu = faiss.StandardGpuResources() if hasattr(faiss, "StandardGpuResources") else None

    def near(self, vectors: Float16, floors: Float32) -> tuple[Rows, Rows]:
        """Return the pairs that may be near; see `Preselector`."""
        parts = [
            self._near(start, widen(vectors[start : start + _CHUNKS_AT_ONCE]), floors)
            for start in range(0, len(vectors), _CHUNKS_AT_ONCE)
        ]
        none = (np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
        rows, preferences = zip(none, *parts, strict=True)
        return np.concatenate(rows), np.concatenate(preferences)

    def _near(self, start: int, block: Float32, floors: Float32) -> tuple[Rows, Rows]:
        k = min(_FIRST_K, len(block))
        while True:
            products, rows = self._search(block, k)
            if k == len(block) or not (products[:, -1] >= floors).any():
                break
            if k == _MAX_K:
                return self._halves(start, block, floors)
            k = min(2 * k, _MAX_K, len(block))
        preferences, places = np.nonzero(products >= floors[:, None])
        return start + rows[preferences, places], preferences

    def _halves(self, start: int, block: Float32, floors: Float32) -> tuple[Rows, Rows]:
        """More chunks are near than one search can name."""
        half = len(block) // 2
        first, second = self._near(start, block[:half], floors), self._near(start + half, block[half:], floors)
        return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1]])

    def _search(self, block: Float32, k: int) -> tuple[Float32, Rows]:
        kind = self._faiss.METRIC_INNER_PRODUCT
        if self._gpu is not None:
            found = self._faiss.knn_gpu(self._gpu, self._preferences, block, k, metric=kind)
        else:
            found = self._faiss.knn(self._preferences, block, k, metric=kind)
        products, rows = found
        return products, rows
