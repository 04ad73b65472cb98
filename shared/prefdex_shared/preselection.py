"""Preselection: which pairs of chunk and preference may be near enough, by products within a float32's error."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .vectors import Float16, Float32, Rows, widen

MARGIN = 1e-3
"""Error of a float32 product of unit vectors with a few thousand components, plus half a step of rounding."""

_PRODUCTS_AT_ONCE = 1 << 21
_MAX_CHUNKS_AT_ONCE = 4_096


class Preselector(Protocol):
    """Finds pairs for some preferences."""

    def near(self, vectors: Float16, floors: Float32) -> tuple[Rows, Rows]:
        """Return all pairs whose product is at least the preference's floor, and maybe some that are a little below.

        Args:
            vectors: float16, (n, dim): chunks.
            floors: float32, (m,).

        Returns:
            int, (k,) and (k,): rows of the chunks and of the preferences, in any order.
        """
        ...


class NumpyPreselector:
    """Preselects by matrix products of BLAS, over as many chunks at once as the processor's caches hold.

    Args:
        preferences: float32, (m, dim).
    """

    def __init__(self, preferences: Float32) -> None:
        self._preferences = preferences
        self._n_at_once = min(max(_PRODUCTS_AT_ONCE // max(len(preferences), 1), 1), _MAX_CHUNKS_AT_ONCE)

    def near(self, vectors: Float16, floors: Float32) -> tuple[Rows, Rows]:
        """Return the pairs that may be near; see `Preselector`."""
        found = [np.zeros(0, dtype=np.intp)]
        for start in range(0, len(vectors), self._n_at_once):
            products = widen(vectors[start : start + self._n_at_once]) @ self._preferences.T
            found.append(start * len(floors) + np.flatnonzero(products >= floors))
        return divmod(np.concatenate(found), len(floors))
