"""Arithmetic on embeddings: unit length, and the canonical similarity.

Stored vectors are float16. A product of two of them is a multiple of 2**-48, and a sum of a few thousand such products
below 32 fits the 53 bits of a float64: the dot product is exact, so it is the same in any order of summation, on any
number of threads and any processor. That is why tau, ranks and ties are decided on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    # Not on a device: its import would take a tenth of numpy's own time.
    import numpy.typing as npt

Float16: TypeAlias = "npt.NDArray[np.float16]"
Float32: TypeAlias = "npt.NDArray[np.float32]"
Float64: TypeAlias = "npt.NDArray[np.float64]"
Int8: TypeAlias = "npt.NDArray[np.int8]"
Int64: TypeAlias = "npt.NDArray[np.int64]"
Rows: TypeAlias = "npt.NDArray[np.intp]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"

SIMILARITY_DIGITS = 4
"""Similarities are rounded to this many decimal digits."""


def normalize(vectors: npt.ArrayLike) -> Float32:
    """Scale each row to unit length; a row of zeros stays as it is.

    Args:
        vectors: float, (n, dim) or (dim,).

    Returns:
        float32, same shape, L2-normalized rows.
    """
    array = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(array, axis=-1, keepdims=True)
    return (array / np.where(norms == 0, 1.0, norms)).astype(np.float32)


def store(vectors: npt.ArrayLike) -> Float16:
    """Round unit vectors to the float16 in which they are stored and compared.

    Args:
        vectors: float, (n, dim) or (dim,), L2-normalized rows.
    """
    return np.asarray(vectors, dtype=np.float16)


def similarities(stored: Float16, other: Float16) -> Float64:
    """Return the canonical cosine similarities: exact dot products, rounded to 1e-4, within [-1, 1].

    Args:
        stored: float16, (n, dim).
        other: float16, (dim,) or (m, dim).

    Returns:
        float64, (n,) or (n, m).
    """
    products = stored.astype(np.float64) @ other.astype(np.float64).T
    # Rounding to float16 can make a vector slightly longer than 1.
    rounded: Float64 = np.clip(np.round(products, SIMILARITY_DIGITS), -1.0, 1.0)
    return rounded
