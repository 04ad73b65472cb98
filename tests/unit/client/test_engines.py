"""One suite over the search engines, and equal results of them."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefdex_client import engines
from prefdex_client.engines import FaissEngine, NumpyEngine, make_engine
from prefdex_shared.errors import ConfigurationError, MissingExtraError

# Small whole numbers: sums are exact in any order, and equal scores are frequent.
MATRICES = st.integers(1, 40).flatmap(lambda n: arrays(np.float32, (n, 3), elements=st.integers(-2, 2).map(float)))
QUERIES = arrays(np.float32, 3, elements=st.integers(-2, 2).map(float))


@pytest.mark.parametrize("engine", [NumpyEngine, FaissEngine])
@given(vectors=MATRICES, query=QUERIES, k=st.integers(1, 50))
def test_the_greatest_products_and_of_equal_ones_the_first(engine, vectors, query, k) -> None:
    products = (vectors @ query).tolist()
    expected = sorted(enumerate(products), key=lambda hit: (-hit[1], hit[0]))[:k]
    assert engine(vectors).search(query, k) == expected


@pytest.mark.parametrize("engine", [NumpyEngine, FaissEngine])
def test_no_vectors(engine) -> None:
    assert engine(np.zeros((0, 3), np.float32)).search(np.ones(3, np.float32), 5) == []


def test_engines_agree_on_many_vectors() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((20_000, 64)).astype(np.float32)
    ours, theirs = NumpyEngine(vectors), FaissEngine(vectors)
    for query in rng.standard_normal((20, 64)).astype(np.float32):
        one, two = ours.search(query, 10), theirs.search(query, 10)
        assert [row for row, _ in one] == [row for row, _ in two]
        np.testing.assert_allclose([score for _, score in one], [score for _, score in two], rtol=1e-5)


def test_which_engine_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = np.zeros((3, 2), np.float32), np.zeros((engines.FAISS_FROM, 2), np.float32)
    assert isinstance(make_engine(few), NumpyEngine)
    assert isinstance(make_engine(many), FaissEngine)
    assert isinstance(make_engine(few, "faiss"), FaissEngine)
    assert isinstance(make_engine(many, "numpy"), NumpyEngine)
    with pytest.raises(ConfigurationError, match="no search engine 'annoy'"):
        make_engine(few, "annoy")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match="faiss"):
        make_engine(few, "faiss")
    monkeypatch.setattr(engines, "find_spec", lambda _: None)
    assert isinstance(make_engine(many), NumpyEngine)
