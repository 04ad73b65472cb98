"""Steering follows its formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.errors import ConfigurationError
from prefdex_shared.steering import PAPER, UNSTEERED, Evidence, Scoring, SteeredQuestion, steer
from prefdex_shared.vectors import normalize

ALL = np.array([True, True, True])


def _vectors(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return normalize(rng.standard_normal(16)), normalize(rng.standard_normal((3, 16)))


def _steer(question, preferences, may_steer, scoring) -> SteeredQuestion:
    nothing = Evidence([0] * len(preferences))
    return steer(question, preferences, may_steer, scoring, nothing, np.zeros(0, np.float32))


@given(st.integers(0, 2**32 - 1))
def test_the_papers_rule(seed: int) -> None:
    question, preferences = _vectors(seed)
    steered = _steer(question, preferences, ALL, PAPER)
    best = int(np.argmax(preferences @ question))
    expected = question + preferences[best]
    np.testing.assert_allclose(steered.vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert steered.preference == best
    assert not steered.tag_scores.any()


@given(st.integers(0, 2**32 - 1), st.floats(0, 3), st.floats(0, 3), st.floats(0, 30), st.floats(0, 2))
def test_the_formula(seed, preference_weight, tag_weight, sharpness, evidence) -> None:
    question, preferences = _vectors(seed)
    rng = np.random.default_rng(seed + 1)
    entries = [normalize(rng.standard_normal((n, 16))) @ question for n in (9, 3, 0)]
    scoring = Scoring(preference_weight, tag_weight, -1.0, sharpness, evidence)
    steered = steer(question, preferences, ALL, scoring, Evidence([9, 3, 0]), np.concatenate(entries))
    cosines = preferences @ question
    means = [np.sort(entries[0])[-5:].mean(), entries[1].mean(), cosines[2]]
    beliefs = np.exp(sharpness * (cosines + evidence * np.array(means)))
    beliefs /= beliefs.sum()
    expected = question + preference_weight * (beliefs @ preferences)
    np.testing.assert_allclose(steered.vector, expected / np.linalg.norm(expected), atol=1e-5)
    np.testing.assert_allclose(steered.tag_scores, tag_weight * beliefs, atol=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_below_the_gate_nothing_is_steered(seed: int) -> None:
    question, preferences = _vectors(seed)
    highest = float((preferences @ question).max())
    if highest >= 0.99:
        return
    steered = _steer(question, preferences, ALL, Scoring(gate=min(highest + 1e-3, 1.0), evidence=0.0))
    np.testing.assert_array_equal(steered.vector, question)
    assert steered.preference is None
    assert not steered.tag_scores.any()
    assert steered.similarity == pytest.approx(highest)


def test_an_empty_preference_never_steers() -> None:
    question = normalize(np.array([1.0, 0.2, 0.0]))
    preferences = np.eye(3, dtype=np.float32)
    assert _steer(question, preferences, ALL, PAPER).preference == 0
    assert _steer(question, preferences, np.array([False, True, True]), PAPER).preference == 1
    assert _steer(question, preferences, np.zeros(3, bool), PAPER).preference is None
    assert _steer(question, np.zeros((0, 3), np.float32), np.zeros(0, bool), PAPER).preference is None


def test_unsteered_leaves_the_question() -> None:
    question, preferences = _vectors(1)
    steered = _steer(question, preferences, ALL, UNSTEERED)
    np.testing.assert_allclose(steered.vector, question, atol=1e-6)
    assert not steered.tag_scores.any()


@pytest.mark.parametrize(
    "knobs",
    [
        {"gate": 2.0},
        {"tag_weight": -1.0},
        {"preference_weight": float("nan")},
        {"sharpness": -1.0},
        {"sharpness": float("inf")},
        {"evidence": 101.0},
    ],
)
def test_impossible_knobs_are_refused(knobs: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        Scoring(**knobs)
