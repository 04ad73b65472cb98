"""The int8 codes of a shard's vectors: quantization, and the prediction that makes them compress better.

Vectors have unit length, so one step serves a whole shard, and the codes of all its vectors have one distribution. The
error of a score depends on the step alone, whatever the number of components. The vectors of a shard are about one
preference and resemble each other: each is therefore stored as its difference to the mean of those before it. All of
that is integer arithmetic, so that every reader finds the same codes. ADR 0005 has the measurements.
"""

from __future__ import annotations

import numpy as np

from .errors import FormatError
from .vectors import Float32, Float64, Int8, Int64, normalize

FINEST_STEP = 1 / 512
"""A code's step, where no component is so large that 127 steps do not reach it."""

_MAX_CODE = 127
_ZERO_ROWS = 2
"""Rows of zeros that count as standing before the first: the mean of few rows is a poor guess."""


def quantize(vectors: Float32, min_step: float = FINEST_STEP) -> tuple[Int8, float]:
    """Round the directions of vectors to multiples of one step.

    Args:
        vectors: float, (n, dim), finite. They are scaled to unit length; a row of zeros stays one.
        min_step: Take no finer step than this.

    Returns:
        codes: int8, (n, dim), in [-127, 127].
        step: a 32-bit float, > 0; the unit vectors are about codes * step, within half a step a component.
    """
    unit = normalize(vectors).astype(np.float64)
    step = float(np.float32(max(min_step, np.abs(unit).max(initial=0.0) / _MAX_CODE)))
    codes: Float64 = np.rint(unit / step)
    return np.clip(codes, -_MAX_CODE, _MAX_CODE).astype(np.int8), step


def dequantize(codes: Int8, step: float) -> Float32:
    """Return the vectors that codes stand for.

    Args:
        codes: int8, (n, dim).
        step: The size of one code.

    Returns:
        float32, (n, dim).
    """
    vectors: Float32 = codes.astype(np.float32) * np.float32(step)
    return vectors


def to_bytes(codes: Int8) -> bytes:
    """Return codes as bytes, row by row: each minus the mean of the rows before it, modulo 256.

    With s the sum of the i rows before row i, its mean is floor((2 s + i + 2) / (2 i + 4)): rounded, as if two rows of
    zeros stood before.

    Args:
        codes: int8, (n, dim).
    """
    values = codes.astype(np.int64)
    before = np.cumsum(values, axis=0) - values
    differences = values - _mean(before, np.arange(len(values))[:, None])
    return bytes(differences.astype(np.uint8))


def from_bytes(data: bytes, n_rows: int, dim: int, where: str) -> Int8:
    """Return the codes that `to_bytes` wrote: int8, (n_rows, dim).

    Raises:
        FormatError: Another number of bytes, or a code that is never written.
    """
    if len(data) != n_rows * dim:
        raise FormatError(f"{where}: {len(data)} bytes of codes where {n_rows} x {dim} are due.")
    differences = np.frombuffer(data, dtype=np.uint8).reshape(n_rows, dim)
    codes = np.empty((n_rows, dim), dtype=np.int8)
    before = np.zeros(dim, dtype=np.int64)
    for row in range(n_rows):
        codes[row] = (differences[row] + _mean(before, row)).astype(np.uint8).view(np.int8)
        before += codes[row]
    if np.any(codes < -_MAX_CODE):
        raise FormatError(f"{where}: a code is out of range.")
    return codes


def _mean(sums: Int64, n_rows: int | Int64) -> Int64:
    n = n_rows + _ZERO_ROWS
    mean: Int64 = (2 * sums + n) // (2 * n)
    return mean
