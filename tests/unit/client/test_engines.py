"""One suite over the search engines, and equal results of them."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prefdex_client import UNSTEERED, Memory, Scoring
from prefdex_client.engines import NumpyEngine, make_engine
from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.steering import SteeredQuestion
from support.bundles import AUDIENCE, ENCODER, Publisher, entry

NEEDS_FAISS = pytest.mark.skipif(find_spec("faiss") is None, reason="the faiss extra is not installed")
N_TAGS = 2
# Small whole numbers: sums are exact in any order, and equal scores are frequent.
MATRICES = st.integers(0, 40).flatmap(lambda n: arrays(np.float32, (n, 3), elements=st.integers(-2, 2).map(float)))
QUERIES = arrays(np.float32, 3, elements=st.integers(-2, 2).map(float))
TAG_SCORES = arrays(np.float32, N_TAGS, elements=st.integers(-2, 2).map(float))


@pytest.mark.parametrize("name", ["numpy", pytest.param("faiss", marks=NEEDS_FAISS)])
@given(vectors=MATRICES, query=QUERIES, tag_scores=TAG_SCORES, k=st.integers(1, 50))
def test_the_greatest_scores_and_of_equal_ones_the_first(name, vectors, query, tag_scores, k) -> None:
    tags = np.arange(len(vectors)) % N_TAGS
    scores = vectors @ query + tag_scores[tags]
    steered = SteeredQuestion(query, tag_scores, 0, 1.0, 1.0, np.zeros(N_TAGS, np.float32))
    expected = sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]
    assert make_engine(vectors, tags, N_TAGS, name).best(steered, scores, min(k, max(1, len(scores)))) == expected


@NEEDS_FAISS
@pytest.mark.parametrize("scoring", [None, UNSTEERED, Scoring(0.7, 2.0, -1.0, 5.0, 1.0)])
def test_a_memory_answers_alike_with_either(scoring, publisher: Publisher, tmp_path: Path) -> None:
    content = {f"I like topic {t}": [entry(f"Text {n} on topic {t % 3}") for n in range(40)] for t in range(5)}
    (tmp_path / "me.pdx").write_bytes(publisher.bundle(content))
    options = {"trust": publisher.trust, "encoder": ENCODER, "audience": AUDIENCE}
    one, two = (Memory.open(tmp_path / "me.pdx", engine=name, **options) for name in ("numpy", "faiss"))
    for question in ("topic 2", "text 7", "I like topic 4", "nothing of it"):
        assert one.query(question, 12, scoring=scoring) == two.query(question, 12, scoring=scoring)


def test_other_names_and_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing, tags = np.zeros((0, 2), np.float32), np.zeros(0, np.intp)
    assert isinstance(make_engine(nothing, tags, 0, "numpy"), NumpyEngine)
    with pytest.raises(ConfigurationError, match="no search engine 'annoy'"):
        make_engine(nothing, tags, 0, "annoy")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match="faiss") as raised:
        make_engine(nothing, tags, 0, "faiss")
    assert "prefdex[faiss]" in raised.value.hint
