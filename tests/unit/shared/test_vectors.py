"""Exact similarities, whatever the order and the company."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.vectors import normalize, similarities, store

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


def test_normalizing_leaves_zeros() -> None:
    np.testing.assert_array_equal(normalize(np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(normalize(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
