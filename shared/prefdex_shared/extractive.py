"""`extractive:`, the engine that needs no language model: the default of a first run.

It keeps what passed the coarse filter with a margin, and its instruction is the chunk's sentence nearest to the
preference. It reads nothing, so it cannot tell what a preference wants from what it rejects; every output says that
it was used.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from .chunking import count_words, sentences
from .encoder import Encoder
from .errors import EngineError
from .llm import Prompt
from .records import Pair, Preference
from .vectors import SIMILARITY_DIGITS, Float16, similarities, store
from .writing import MAX_INSTRUCTION_CHARACTERS

NAME = "extractive"
DEFAULT_MARGIN = 0.02

# Similarity above tau at which the confidence reaches 1: of MiniLM's pairs above 0.25, few are beyond 0.65.
_FULL_CONFIDENCE = 0.4

# A shorter sentence ("Serve hot.") says little about its chunk.
_MIN_QUOTE_WORDS = 6


class ExtractiveLLM:
    """Answers the judge's and the writer's prompts from embeddings alone.

    Args:
        encoder: Encodes the chunk's sentences and the preference.
        tau: The coarse filter's threshold.
        margin: How far above tau a pair must be to be kept.
    """

    def __init__(self, encoder: Encoder, tau: float, margin: float = DEFAULT_MARGIN) -> None:
        self._encoder = encoder
        self._tau = tau
        self._margin = margin
        self._last: tuple[Preference, Float16] | None = None

    @property
    def name(self) -> str:
        """Identity of the engine."""
        return f"{NAME}:tau={self._tau:g},margin={self._margin:g},encoder={self._encoder.id}"

    def complete(self, prompts: Sequence[Prompt]) -> list[str | EngineError]:
        """Answer each prompt."""
        return [self._judge(prompt.pair) if prompt.task == "judge" else self._write(prompt.pair) for prompt in prompts]

    def _judge(self, pair: Pair) -> str:
        above = round(pair.similarity - self._tau, SIMILARITY_DIGITS)
        keep = above >= self._margin
        confidence = min(max(above / _FULL_CONFIDENCE, 0.0), 1.0)
        reason = f"Similarity {pair.similarity:.4f}, threshold {self._tau:g} with a margin of {self._margin:g}."
        decision = "keep" if keep else "discard"
        return json.dumps({"reason": reason, "decision": decision, "confidence": round(100 * confidence)})

    def _write(self, pair: Pair) -> str:
        quotes = [quote for quote in _quotes(pair.chunk.text) if quote.casefold() != pair.preference.text.casefold()]
        vectors = store(self._encoder.encode(quotes))
        nearest = int(similarities(vectors, self._vector(pair.preference)).argmax()) if quotes else None
        instruction = pair.chunk.title if nearest is None else quotes[nearest]
        return json.dumps({"instruction": _shorten(instruction)}, ensure_ascii=False)

    def _vector(self, preference: Preference) -> Float16:
        # Pairs come preference by preference, so one remembered vector saves nearly all of the encoding.
        if self._last is None or self._last[0] != preference:
            self._last = preference, store(self._encoder.encode([preference.text])[0])
        return self._last[1]


def _quotes(text: str) -> list[str]:
    quotes = [" ".join(sentence.split()) for sentence in sentences(text)]
    telling = [quote for quote in quotes if count_words(quote) >= _MIN_QUOTE_WORDS]
    return telling or [quote for quote in quotes if any(character.isalnum() for character in quote)]


def _shorten(text: str) -> str:
    if len(text) <= MAX_INSTRUCTION_CHARACTERS:
        return text
    head = text[: MAX_INSTRUCTION_CHARACTERS - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head) + "…"
