"""The coarse filter equals a comparison of all pairs, however the corpus is cut into blocks, with any engine."""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_builder.preselectors import ENGINES, open_preselector
from prefdex_shared import filtering
from prefdex_shared.candidates import Candidate, Candidates
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.filtering import FilterConfig, SimilarityJoin, filter_block
from prefdex_shared.ids import ChunkId, chunk_id
from prefdex_shared.vectors import normalize, similarities, store, widen

INSTALLED = [
    pytest.param(engine, marks=pytest.mark.skipif(find_spec(engine) is None, reason=f"{engine} is not installed"))
    for engine in ENGINES
]


def _brute_force(
    ids: list[ChunkId], vectors: np.ndarray, preference: np.ndarray, config: FilterConfig
) -> list[Candidate]:
    pairs = zip(ids, similarities(vectors, preference).tolist(), strict=True)
    ranked = sorted((Candidate(*pair) for pair in pairs), key=lambda each: (-each.similarity, each.chunk_id))
    near = [each for each in ranked if each.similarity >= config.tau]
    wanted = ranked[: max(len(near), config.min_candidates)]
    return wanted[: config.max_candidates]


@pytest.mark.parametrize("engine", INSTALLED)
@pytest.mark.parametrize("slack", [0, 1 << 15])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 60),
    cuts=st.lists(st.integers(0, 60), max_size=5),
    tau=st.floats(-1, 1),
    caps=st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted),
    n_joins=st.integers(1, 3),
)
def test_any_blocks_in_any_order_give_the_brute_force_result(
    engine: str, slack: int, seed: int, n: int, cuts: list[int], tau: float, caps: list[int], n_joins: int
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
    with pytest.MonkeyPatch.context() as patch:
        # With none, it prunes after each block.
        patch.setattr(filtering, "_SLACK", slack)
        joins = [
            SimilarityJoin(preferences, config, open_preselector(engine, widen(preferences))) for _ in range(n_joins)
        ]
        for block in blocks:
            joins[rng.integers(n_joins)].add(np.array(ids[block], dtype="S64"), vectors[block])
        for other in joins[1:]:
            joins[0].hold(other.candidates())
        found = joins[0].candidates().lists(len(preferences))
    for each, preference in zip(found, preferences, strict=True):
        assert each == _brute_force(ids, vectors, preference, config)


@pytest.mark.parametrize("engine", INSTALLED)
def test_engines_agree_on_many_chunks(engine: str) -> None:
    rng = np.random.default_rng(7)
    preferences = store(normalize(rng.standard_normal((5, 32))))
    # More near one preference than any engine takes at once.
    vectors = store(normalize(rng.standard_normal((9_000, 32)) + 3 * preferences[0].astype(np.float64)))
    ids = np.array([chunk_id(str(row)) for row in range(len(vectors))], dtype="S64")
    config = FilterConfig(tau=0.2, max_candidates=6_000, min_candidates=10)
    join = SimilarityJoin(preferences, config, open_preselector(engine, widen(preferences)))
    join.add(ids, vectors)
    found = join.candidates().lists(len(preferences))
    assert len(found[0]) > 4_096
    names = [ChunkId(each.decode()) for each in ids]
    for each, preference in zip(found, preferences, strict=True):
        assert each == _brute_force(names, vectors, preference, config)


def test_no_such_engine() -> None:
    with pytest.raises(ConfigurationError, match="no filter engine 'scann'") as raised:
        open_preselector("scann", np.zeros((1, 4), np.float32))
    assert "numpy, torch, faiss" in raised.value.hint


def test_what_is_held_does_not_grow_with_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where all chunks are equally near."""
    monkeypatch.setattr(filtering, "_SLACK", 10)
    preferences = store(normalize(np.ones((2, 8))))
    join = SimilarityJoin(preferences, FilterConfig(max_candidates=5))
    held = []
    for number in range(50):
        ids = np.array([chunk_id(f"{number}/{row}") for row in range(20)], dtype="S64")
        join.add(ids, np.repeat(preferences[:1], 20, axis=0))
        held.append(len(join._held))
    assert max(held) <= 2 * 10 + 10
    assert len(join.candidates()) == 10


def test_ties_go_by_chunk_id_even_where_their_starts_are_equal() -> None:
    vectors = store(np.tile(normalize(np.ones((1, 8))), (5, 1)))
    ids = [ChunkId(f"aaaaaaaaaaaa{row}") for row in (3, 1, 4, 0, 2)]
    found = filter_block(ids, vectors, vectors[:1], FilterConfig(max_candidates=3))[0]
    assert [each.chunk_id for each in found] == sorted(ids)[:3]


def test_an_empty_block_has_no_candidates() -> None:
    empty = np.zeros((0, 8), np.float16)
    assert filter_block([], empty, np.zeros((2, 8), np.float16), FilterConfig()) == [[], []]
    assert filter_block([], empty, empty, FilterConfig()) == []
    assert len(Candidates.none().ranked()) == 0


@pytest.mark.parametrize("settings", [{"tau": 1.5}, {"min_candidates": 5, "max_candidates": 4}, {"tau": float("nan")}])
def test_impossible_settings_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        FilterConfig(**settings)  # type: ignore[arg-type]
