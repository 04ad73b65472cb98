"""int8 codes that keep the order of neighbours, and come back from their bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from prefdex_shared.codes import FINEST_STEP, dequantize, from_bytes, quantize, to_bytes
from prefdex_shared.errors import FormatError
from prefdex_shared.vectors import normalize

CODES = arrays(np.int8, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=40), elements=st.integers(-127, 127))


def _random(seed: int, n: int, dim: int = 384) -> np.ndarray:
    return normalize(np.random.default_rng(seed).standard_normal((n, dim)))


@pytest.mark.parametrize("norm", [1.0, 1e-6, 1e6, "mixed"])
@pytest.mark.parametrize("outlier", [False, True], ids=["even", "outlier"])
def test_int8_keeps_the_top_5(norm: float | str, outlier: bool) -> None:
    """The kind of apache/lucene 13350: int8 inner products that lost the order, on tiny and unnormalized inputs too."""
    vectors = _random(2, 2_000)
    if outlier:
        vectors[:, 7] += 0.2
    exact = normalize(vectors)
    norms = 10.0 ** np.linspace(-6, 6, len(vectors))[:, None] if norm == "mixed" else norm
    queries = _random(3, 200)
    decoded = dequantize(*quantize((vectors * norms).astype(np.float32)))
    best, found = (np.argsort(-(queries @ each.T), axis=1)[:, :5] for each in (exact, decoded))
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(best, found, strict=True)])
    assert recall >= 0.97


@given(arrays(np.float32, (7, 5), elements=st.floats(-1e3, 1e3, width=32)))
def test_codes_are_within_half_a_step_and_never_saturate(vectors: np.ndarray) -> None:
    codes, step = quantize(vectors)
    assert codes.dtype == np.int8
    assert FINEST_STEP <= step <= float(np.float32(1 / 127))
    assert np.abs(dequantize(codes, step) - normalize(vectors)).max() <= step / 2 * 1.001


def test_zeros_and_emptiness() -> None:
    codes, step = quantize(np.zeros((2, 4), np.float32))
    np.testing.assert_array_equal(dequantize(codes, step), np.zeros((2, 4)))
    assert quantize(np.zeros((0, 4), np.float32))[0].shape == (0, 4)


@given(CODES)
def test_codes_come_back_from_their_bytes(codes: np.ndarray) -> None:
    np.testing.assert_array_equal(from_bytes(to_bytes(codes), *codes.shape, "s0"), codes)


def test_the_prediction_is_the_rounded_mean_with_two_rows_of_zeros() -> None:
    codes = np.array([[10, -7, 127], [10, -6, -127], [1, 1, 127]], dtype=np.int8)
    # The means before each row: 0; floor(10/3 + 1/2) = 3, floor(-7/3 + 1/2) = -2, 42; 5, -3 (-3.25 + 0.5 down), 0.
    differences = [[10, -7, 127], [10 - 3, -6 + 2, -127 - 42], [1 - 5, 1 + 3, 127]]
    assert to_bytes(codes) == bytes(value % 256 for row in differences for value in row)


def test_vectors_that_resemble_each_other_have_small_codes() -> None:
    alike = normalize(_random(5, 1)[0] + 0.5 * _random(6, 50))
    codes = quantize(alike)[0]
    stored = np.frombuffer(to_bytes(codes), dtype=np.int8).astype(int)
    assert np.abs(stored).mean() < 0.7 * np.abs(codes.astype(int)).mean()


@pytest.mark.parametrize(
    ("data", "message"), [(bytes(5), "5 bytes of codes where 2 x 3"), (bytes([128] * 6), "out of range")]
)
def test_other_bytes_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_bytes(data, 2, 3, "s0")
