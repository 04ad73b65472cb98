"""Steering a question towards the preferences that it touches.

The paper (section 3.3) adds the one preference that is most similar to the question. We let all of them take part, each
by how much we believe that the question touches it, and let an entry's own preference count:

    e(j)  = mean of the 5 greatest cos(q, v) over the entries v of preference j; cos(q, p_j) where it has none
    b(j)  = softmax over j of  sharpness * (cos(q, p_j) + evidence * e(j)),  among preferences that may steer
    q~    = (q + preference_weight * sum_j b(j) p_j) / norm
    s(v)  = cos(q~, v) + tag_weight * b(j),  with j the preference of v

Where no preference has a cosine similarity of at least the gate, none is near the question: q~ = q and the tag term is
dropped. Infinite sharpness without evidence, tag and gate is the paper's rule. ADR 0007 has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .errors import ConfigurationError
from .vectors import Float32, Float64, Mask

N_EVIDENCE = 5
"""Entries of a preference that tell whether a question touches it."""

_FARTHEST = -2.0
"""Below every cosine similarity."""

MAX_SHARPNESS = 1e9
"""So sharp that the nearest preference alone counts."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """The knobs of steering. A bundle carries its defaults; a query may override them.

    Attributes:
        preference_weight: Share of the preferences in the steered question; 0 leaves it as asked.
        tag_weight: What an entry gets if it is certain that the question touches its preference.
        gate: Cosine similarity to the nearest preference below which the question is not steered.
        sharpness: How strongly the nearest preference outweighs the others.
        evidence: Weight of a preference's own entries beside its text.
    """

    preference_weight: float = 1.0
    tag_weight: float = 1.0
    gate: float = 0.15
    sharpness: float = 12.0
    evidence: float = 0.5

    def __post_init__(self) -> None:
        weights = (self.preference_weight, self.tag_weight, self.evidence)
        if not all(0 <= weight <= 100 for weight in weights):
            raise ConfigurationError("Steering needs weights from 0 to 100.")
        if not (-1 <= self.gate <= 1 and 0 <= self.sharpness <= MAX_SHARPNESS):
            raise ConfigurationError("Steering needs a gate from -1 to 1, and a sharpness from 0 to 1e9.")


UNSTEERED = Scoring(preference_weight=0.0, tag_weight=0.0)
PAPER = Scoring(preference_weight=1.0, tag_weight=0.0, gate=-1.0, sharpness=MAX_SHARPNESS, evidence=0.0)


@dataclass(frozen=True, slots=True)
class SteeredQuestion:
    """What the index is searched with.

    Attributes:
        vector: float32, (dim,), L2-normalized: q~.
        tag_scores: float32, (m,): what an entry of each preference gets on top.
        preference: Row of the preference that is believed in most, or None where the question is not steered.
        similarity: Cosine similarity to the nearest preference; None where no preference may steer.
        question_weight: Share of the question in q~.
        preference_weights: float32, (m,): shares of the preferences in q~. A vector's inner product with q~ is the
            same sum of its products with the question and with the preferences, which need not be computed anew.
    """

    vector: Float32
    tag_scores: Float32
    preference: int | None
    similarity: float | None
    question_weight: float
    preference_weights: Float32


class Evidence:
    """Tells from a question's similarities to entries which preferences it touches.

    Args:
        counts: Entries of each of m preferences; entries stand preference after preference.
    """

    def __init__(self, counts: Sequence[int]) -> None:
        n = np.asarray(counts, dtype=np.int64)
        ends = np.cumsum(n)
        rows = np.arange(max(int(n.max(initial=0)), N_EVIDENCE))
        # Rows of each preference, filled up with one that is farther away than any.
        self._rows = np.where(rows < n[:, None], (ends - n)[:, None] + rows, n.sum())
        self._n = np.clip(n, 1, N_EVIDENCE)
        self._filling = _FARTHEST * (N_EVIDENCE - np.minimum(n, N_EVIDENCE))
        self._is_empty = n == 0

    def of(self, similarities: Float32, cosines: Float64) -> Float64:
        """Return e(j): float64, (m,).

        Args:
            similarities: float32, (n,): cosine similarities of the question and the entries.
            cosines: float64, (m,): those of the question and the preferences.
        """
        padded = np.full(len(similarities) + 1, _FARTHEST, dtype=np.float32)
        padded[:-1] = similarities
        rows = padded[self._rows]
        rows.partition(rows.shape[1] - N_EVIDENCE, axis=1)
        best: Float64 = rows[:, -N_EVIDENCE:].sum(axis=1, dtype=np.float64)
        evidence: Float64 = np.where(self._is_empty, cosines, (best - self._filling) / self._n)
        return evidence


def steer(
    question: Float32,
    preferences: Float32,
    may_steer: Mask,
    scoring: Scoring,
    evidence: Evidence,
    similarities: Float32,
) -> SteeredQuestion:
    """Steer a question.

    Args:
        question: float32, (dim,), L2-normalized.
        preferences: float32, (m, dim), L2-normalized rows.
        may_steer: bool, (m,): False for a preference whose shard is empty.
        scoring: The knobs.
        evidence: Knows how many entries each preference has.
        similarities: float32, (n,): cosine similarities of the question and the entries.
    """
    unsteered = np.zeros(len(preferences), dtype=np.float32)
    if not may_steer.any():
        return SteeredQuestion(question, unsteered, None, None, 1.0, unsteered)
    cosines = (preferences @ question).astype(np.float64)
    nearest = float(cosines[may_steer].max())
    if nearest < scoring.gate:
        return SteeredQuestion(question, unsteered, None, nearest, 1.0, unsteered)
    signal = cosines + scoring.evidence * evidence.of(similarities, cosines) if scoring.evidence else cosines
    beliefs = _beliefs(signal, may_steer, scoring.sharpness)
    mixed = question + (scoring.preference_weight * beliefs).astype(np.float32) @ preferences
    length = float(np.sqrt(mixed @ mixed)) or 1.0
    return SteeredQuestion(
        vector=mixed / np.float32(length),
        tag_scores=(scoring.tag_weight * beliefs).astype(np.float32),
        preference=int(beliefs.argmax()),
        similarity=nearest,
        question_weight=1.0 / length,
        preference_weights=(scoring.preference_weight / length * beliefs).astype(np.float32),
    )


def _beliefs(signal: Float64, may_steer: Mask, sharpness: float) -> Float64:
    signal = np.where(may_steer, signal, -np.inf)
    exponents: Float64 = np.exp(sharpness * (signal - signal.max()))
    beliefs: Float64 = exponents / exponents.sum()
    return beliefs
