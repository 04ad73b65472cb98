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
Bytes: TypeAlias = "npt.NDArray[np.bytes_]"

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


def widen(stored: Float16) -> Float32:
    """Return finite float16 numbers as float32, exactly, in a third of the time that numpy's own cast takes.

    A float16's exponent and fraction, moved to a float32's place, mean the same number over 2**112.

    Args:
        stored: float16, of any shape.
    """
    bits = stored.view(np.int16).astype(np.int32)
    np.left_shift(bits, 13, out=bits)
    # The shift has carried the sign along; exponent and fraction keep their 15 bits.
    np.bitwise_and(bits, np.int32(-0x70002000), out=bits)
    wide: Float32 = bits.view(np.float32)
    np.multiply(wide, np.float32(2.0**112), out=wide)
    return wide


def similarities(stored: Float16, other: Float16) -> Float64:
    """Return the canonical cosine similarities: exact dot products, rounded to 1e-4, within [-1, 1].

    Args:
        stored: float16, (n, dim).
        other: float16, (dim,) or (m, dim).

    Returns:
        float64, (n,) or (n, m).
    """
    return canonical(stored.astype(np.float64) @ other.astype(np.float64).T)


def canonical(products: Float64) -> Float64:
    """Return exact dot products as canonical similarities.

    Args:
        products: float64, of any shape.
    """
    # Rounding to float16 can make a vector slightly longer than 1.
    rounded: Float64 = np.clip(np.round(products, SIMILARITY_DIGITS), -1.0, 1.0)
    return rounded
