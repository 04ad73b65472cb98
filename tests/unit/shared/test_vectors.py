"""Exact similarities, and int8 codes that keep the order of neighbours."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.vectors import dequantize, normalize, quantize, similarities, store

SEEDS = st.integers(0, 2**32 - 1)


def _random(seed: int, n: int, dim: int = 384) -> np.ndarray:
    return normalize(np.random.default_rng(seed).standard_normal((n, dim)))


@given(SEEDS)
def test_similarities_do_not_depend_on_order_or_company(seed: int) -> None:
    stored = store(_random(seed, 40))
    shuffled = np.random.default_rng(seed).permutation(stored.shape[1])
    whole = similarities(stored, stored)
    alone = np.array([[similarities(a[None], b)[0] for b in stored[:5]] for a in stored])
    reordered = similarities(stored[:, shuffled], stored[:, shuffled])
    np.testing.assert_array_equal(whole[:, :5], alone)
    np.testing.assert_array_equal(whole, reordered)


def test_similarities_are_rounded_and_bounded() -> None:
    stored = store(_random(1, 50))
    values = similarities(stored, stored)
    assert np.all(values <= 1.0)
    np.testing.assert_array_equal(values, np.round(values, 4))
    np.testing.assert_allclose(np.diag(values), 1.0, atol=2e-3)


@pytest.mark.parametrize("norm", [1.0, 1e-6, 1e6], ids=["unit", "tiny", "huge"])
@pytest.mark.parametrize("outlier", [False, True], ids=["even", "outlier"])
def test_int8_keeps_the_top_5(norm: float, outlier: bool) -> None:
    """The kind of apache/lucene 13350: int8 inner products that lost the order, on tiny and unnormalized inputs too."""
    vectors = _random(2, 2_000)
    if outlier:
        vectors[:, 7] += 0.2
    vectors = (vectors * norm).astype(np.float32)
    queries = _random(3, 200)
    decoded = dequantize(*quantize(vectors))
    exact, found = (np.argsort(-(queries @ each.T), axis=1)[:, :5] for each in (vectors, decoded))
    recall = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(exact, found, strict=True)])
    assert recall >= 0.97


def test_codes_fill_the_range_and_never_saturate() -> None:
    vectors = _random(4, 100)
    codes, scales = quantize(vectors)
    assert codes.dtype == np.int8
    assert scales.dtype == np.float32
    np.testing.assert_array_equal(np.abs(codes.astype(int)).max(axis=1), 127)
    assert np.abs(dequantize(codes, scales) - vectors).max() <= scales.max() / 2 * 1.001


def test_zeros_and_emptiness() -> None:
    codes, scales = quantize(np.zeros((2, 4), np.float32))
    np.testing.assert_array_equal(dequantize(codes, scales), np.zeros((2, 4)))
    assert quantize(np.zeros((0, 4), np.float32))[0].shape == (0, 4)
    np.testing.assert_array_equal(normalize(np.zeros(3)), np.zeros(3))
