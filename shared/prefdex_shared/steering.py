"""Steering a question towards the preference that it touches (paper, section 3.3), and our tag term.

    p*   = argmax over p of cos(q, p), among preferences that may steer
    q~   = (q + preference_weight * p*) / norm
    s(e) = cos(q~, v_e) + tag_weight * cos(q, p_e)

Where cos(q, p*) is below the gate, no preference is near the question: q~ = q and the tag term is dropped. With
preference_weight 1, tag_weight 0 and gate -1 this is the paper's rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import ConfigurationError
from .vectors import Float32, normalize


@dataclass(frozen=True, slots=True)
class Scoring:
    """The three knobs of steering. A bundle carries its defaults; a query may override them.

    Attributes:
        preference_weight: Share of p* in the steered question; 0 leaves it as asked.
        tag_weight: Weight of the similarity of the question to the entry's own preference.
        gate: Cosine similarity to p* below which the question is not steered.
    """

    preference_weight: float = 1.0
    tag_weight: float = 1.0
    gate: float = 0.2

    def __post_init__(self) -> None:
        if not (0 <= self.preference_weight <= 100 and 0 <= self.tag_weight <= 100 and -1 <= self.gate <= 1):
            raise ConfigurationError("Steering needs weights from 0 to 100 and a gate from -1 to 1.")


UNSTEERED = Scoring(preference_weight=0.0, tag_weight=0.0)
PAPER = Scoring(preference_weight=1.0, tag_weight=0.0, gate=-1.0)


@dataclass(frozen=True, slots=True)
class SteeredQuestion:
    """What the index is searched with.

    Attributes:
        vector: float32, (dim,), L2-normalized: q~.
        tag_scores: float32, (m,): what an entry of each preference gets on top.
        preference: Row of p*, or None where the question is not steered.
        similarity: cos(q, p*); None where no preference may steer.
    """

    vector: Float32
    tag_scores: Float32
    preference: int | None
    similarity: float | None


def steer(
    question: Float32, preferences: Float32, may_steer: npt.NDArray[np.bool_], scoring: Scoring
) -> SteeredQuestion:
    """Steer a question.

    Args:
        question: float32, (dim,), L2-normalized.
        preferences: float32, (m, dim), L2-normalized rows.
        may_steer: bool, (m,): False for a preference whose shard is empty.
        scoring: The knobs.
    """
    unsteered = np.zeros(len(preferences), dtype=np.float32)
    if not may_steer.any():
        return SteeredQuestion(question, unsteered, None, None)
    cosines = preferences @ question
    nearest = int(np.where(may_steer, cosines, -np.inf).argmax())
    similarity = float(cosines[nearest])
    if similarity < scoring.gate:
        return SteeredQuestion(question, unsteered, None, similarity)
    steered = normalize(question + np.float32(scoring.preference_weight) * preferences[nearest])
    tag_scores = (np.float32(scoring.tag_weight) * cosines).astype(np.float32)
    return SteeredQuestion(steered, tag_scores, nearest, similarity)
