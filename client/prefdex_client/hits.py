"""What a query returns, and how it is put into a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """Why a chunk is in the memory: one preference that it matters to.

    Attributes:
        preference: Text of the preference.
        instruction: How to read the chunk in the light of it.
        score: The entry's score for this question.
        confidence: The judge's confidence, in [0, 1].
    """

    preference: str
    instruction: str
    score: float
    confidence: float


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


def render_context(hits: Sequence[Hit]) -> str:
    """Render hits as numbered passages for the prompt of a generating LLM; empty for no hits."""
    return "\n\n".join(_render(number, hit) for number, hit in enumerate(hits, start=1))


def _render(number: int, hit: Hit) -> str:
    notes = [f"Note: {instruction}" for instruction in hit.instructions]
    source = [f"Source: {hit.source}"] if hit.source else []
    return "\n".join([f"[{number}] {hit.title}".rstrip(), hit.text, *notes, *source])
