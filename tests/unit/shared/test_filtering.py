"""The coarse filter equals a comparison of all pairs, however the corpus is cut into blocks."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.errors import ConfigurationError
from prefdex_shared.filtering import Candidate, FilterConfig, filter_block, merge
from prefdex_shared.ids import ChunkId, chunk_id
from prefdex_shared.vectors import normalize, similarities, store


def _brute_force(
    ids: list[ChunkId], vectors: np.ndarray, preference: np.ndarray, config: FilterConfig
) -> list[Candidate]:
    ranked = sorted(Candidate(-value, key) for value, key in zip(similarities(vectors, preference), ids, strict=True))
    near = [each for each in ranked if each.similarity >= config.tau]
    wanted = ranked[: max(len(near), config.min_candidates)]
    return wanted[: config.max_candidates]


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    tau=st.floats(-1, 1),
    caps=st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted),
)
def test_any_blocks_in_any_order_give_the_brute_force_result(
    seed: int, n: int, cuts: list[int], tau: float, caps: list[int]
) -> None:
    rng = np.random.default_rng(seed)
    # Few dimensions and repeated rows, so that ties and values at tau are common.
    vectors = store(normalize(rng.integers(-1, 2, (n, 4)) + 0.0))
    preferences = store(normalize(rng.integers(-1, 2, (3, 4)) + 0.0))
    ids = [chunk_id(f"{seed}/{row}") for row in range(n)]
    config = FilterConfig(float(np.round(tau, 2)), max(caps[1], 1), min(caps[0], max(caps[1], 1)))
    edges = sorted({0, n, *(cut for cut in cuts if cut <= n)})
    blocks = [slice(a, b) for a, b in itertools.pairwise(edges)]
    rng.shuffle(blocks)
    parts = [filter_block(ids[block], vectors[block], preferences, config) for block in blocks]
    for row, preference in enumerate(preferences):
        assert merge((part[row] for part in parts), config) == _brute_force(ids, vectors, preference, config)


def test_ties_go_by_chunk_id() -> None:
    vectors = store(np.tile(normalize(np.ones((1, 8))), (5, 1)))
    ids = [chunk_id(str(row)) for row in range(5)]
    found = filter_block(ids, vectors, vectors[:1], FilterConfig(max_candidates=3))[0]
    assert [each.chunk_id for each in found] == sorted(ids)[:3]


def test_an_empty_block_has_no_candidates() -> None:
    empty = np.zeros((0, 8), np.float16)
    assert filter_block([], empty, np.zeros((2, 8), np.float16), FilterConfig()) == [[], []]


@pytest.mark.parametrize("settings", [{"tau": 1.5}, {"min_candidates": 5, "max_candidates": 4}, {"tau": float("nan")}])
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        FilterConfig(**settings)  # type: ignore[arg-type]
