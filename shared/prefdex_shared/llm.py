"""What prefdex asks of a language model: answers to prompts under a JSON schema.

Any engine is a class with a `name` and one method. The builder opens engines by URI; a device may pass its own.
`FakeLLM` is the deterministic one for tests, shipped so that users can test with it too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from .errors import EngineError
from .ids import content_hash
from .records import Pair

Task = Literal["judge", "write"]
Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request.

    Attributes:
        task: Which stage asks.
        pair: What it asks about, for engines that work on records rather than on text.
        system: System text.
        user: User text.
        schema: JSON schema that the answer must satisfy.
        max_tokens: Cap of the answer, in the model's tokens.
    """

    task: Task
    pair: Pair
    system: str
    user: str
    schema: Json
    max_tokens: int


@runtime_checkable
class LLM(Protocol):
    """A language model, or something that answers in its place."""

    @property
    def name(self) -> str:
        """Identity of the engine with all that changes its answers; stands in cache keys and in manifests."""
        ...

    def complete(self, prompts: Sequence[Prompt]) -> Sequence[str | EngineError]:
        """Answer each prompt with a JSON text, or with the error that it ended in, in the order of the prompts.

        One prompt's error never costs another its answer.
        """
        ...


def fake_answer(prompt: Prompt) -> str:
    """Answer by a hash of the pair: about two thirds are kept, and each instruction is distinct."""
    pair = prompt.pair
    digest = content_hash("prefdex/fake/1", pair.preference.text, pair.chunk.title, pair.chunk.text)
    if prompt.task == "write":
        return json.dumps({"instruction": f"Read this passage for what it says about point {digest[:8]}."})
    keep = int(digest[:2], 16) % 3 != 0
    return json.dumps(
        {
            "reason": f"The digest begins with {digest[:2]}.",
            "decision": "keep" if keep else "discard",
            "confidence": int(digest[2:4], 16) % 101,
        }
    )


class FakeLLM:
    """A deterministic engine.

    Args:
        answer: Maps a prompt to its answer; may raise an EngineError. By default `fake_answer`.
        name: Identity.

    Attributes:
        n_calls: Number of prompts answered so far.
    """

    def __init__(self, answer: Callable[[Prompt], str] = fake_answer, name: str = "fake") -> None:
        self._answer = answer
        self._name = name
        self.n_calls = 0

    @property
    def name(self) -> str:
        """Identity of the engine."""
        return self._name

    def complete(self, prompts: Sequence[Prompt]) -> list[str | EngineError]:
        """Answer each prompt."""
        self.n_calls += len(prompts)
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: Prompt) -> str | EngineError:
        try:
            return self._answer(prompt)
        except EngineError as error:
            return error
