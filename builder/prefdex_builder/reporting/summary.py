"""What became of the pairs of one preference: counts by similarity, and a few of them to read.

Made when a shard is built, and kept beside it, so that a report needs neither the corpus nor the answers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from prefdex_shared.records import Pair, Preference

from ..stages.verify import Outcome

BIN = 0.02
"""Width of a bin of similarities."""

FATES = ("kept", "discarded", "failed")
_N_SAMPLES = 3
_TEXT_KEPT = 400


@dataclass(frozen=True, slots=True)
class Sample:
    """A pair to read.

    Attributes:
        fate: `kept`, `discarded` or `failed`.
        similarity: Cosine similarity of chunk and preference.
        title: Title of the document.
        text: The beginning of the chunk.
        reason: Why, as the judge says, or why it failed.
        instruction: How to read it; empty unless it is kept.
    """

    fate: str
    similarity: float
    title: str
    text: str
    reason: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the pairs of one preference.

    Attributes:
        preference: Its text.
        histogram: Number of pairs by fate and bin; bin i holds similarities from i * BIN on.
        samples: The best of each fate.
    """

    preference: str
    histogram: Mapping[str, Mapping[int, int]]
    samples: tuple[Sample, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Summary:
        """Read what `to_json` gave."""
        histogram = {fate: {int(at): n for at, n in bins.items()} for fate, bins in fields["histogram"].items()}
        return cls(fields["preference"], histogram, tuple(Sample(**each) for each in fields["samples"]))


def summarize(preference: Preference, pairs: Sequence[tuple[Pair, Outcome]]) -> Summary:
    """Summarize the pairs of a preference, which stand best first."""
    by_fate: dict[str, list[tuple[Pair, Outcome]]] = {fate: [] for fate in FATES}
    for pair, outcome in pairs:
        by_fate[_fate(outcome)].append((pair, outcome))
    return Summary(
        preference.text,
        {fate: _bins(pair.similarity for pair, _ in held) for fate, held in by_fate.items()},
        tuple(_sample(fate, *each) for fate, held in by_fate.items() for each in held[:_N_SAMPLES]),
    )


def _fate(outcome: Outcome) -> str:
    if outcome.failure is not None or outcome.verdict is None:
        return "failed"
    return "kept" if outcome.verdict.keep else "discarded"


def _bins(similarities: Iterable[float]) -> dict[int, int]:
    # Similarities have four digits: half of the last one keeps an edge in its own bin.
    return dict(sorted(Counter(math.floor((each + 5e-5) / BIN) for each in similarities).items()))


def _sample(fate: str, pair: Pair, outcome: Outcome) -> Sample:
    text = pair.chunk.text
    reason = outcome.failure.reason if outcome.failure else outcome.verdict.reason if outcome.verdict else ""
    return Sample(
        fate,
        pair.similarity,
        pair.chunk.title,
        text if len(text) <= _TEXT_KEPT else f"{text[:_TEXT_KEPT]}…",
        reason,
        outcome.instruction or "",
    )
