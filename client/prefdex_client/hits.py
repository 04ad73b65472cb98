"""What a query returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["signed", "local", "pending"]


@dataclass(frozen=True, slots=True)
class Match:
    """Why a chunk is in the memory: one preference that it matters to.

    Attributes:
        preference: Text of the preference.
        instruction: How to read the chunk in the light of it.
        score: The entry's score for this question: `similarity` + `tag_score`.
        similarity: Cosine similarity of the steered question and the instruction.
        tag_score: What the entry gets for its preference; 0 where the question is not steered.
        confidence: The judge's confidence, in [0, 1].
        origin: `signed` by the publisher, or `local`: made on this device.
    """

    preference: str
    instruction: str
    score: float
    similarity: float
    tag_score: float
    confidence: float
    origin: Origin


@dataclass(frozen=True, slots=True)
class Hit:
    """One chunk, scored as its best match.

    Attributes:
        chunk_id: Hash of the text.
        title: Title of the document; may be empty.
        text: The chunk.
        source: Where it came from; may be empty.
        score: Score of the best match: cosine similarity to the steered question plus the tag term.
        matches: Every preference that the chunk is kept for, best first.
    """

    chunk_id: str
    title: str
    text: str
    source: str
    score: float
    matches: tuple[Match, ...]

    @property
    def instructions(self) -> tuple[str, ...]:
        """The matches' instructions, best first."""
        return tuple(match.instruction for match in self.matches)

    @property
    def preferences(self) -> tuple[str, ...]:
        """The matches' preferences, best first."""
        return tuple(match.preference for match in self.matches)

    @property
    def is_local(self) -> bool:
        """Whether nothing of it was signed by the publisher."""
        return all(match.origin == "local" for match in self.matches)
