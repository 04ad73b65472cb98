"""How much an engine was asked, and how much it said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prefdex_shared.errors import EngineError
from prefdex_shared.llm import LLM, Prompt
from prefdex_shared.records import Pair


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls, and tokens as some tokenizer counts them.

    Attributes:
        calls: Prompts put to the engine.
        prompt_tokens: Tokens of the prompts.
        output_tokens: Tokens of the answers.
    """

    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.output_tokens + other.output_tokens,
        )


class MeteredLLM:
    """Passes prompts on, and counts.

    Args:
        llm: The engine.
        count_tokens: Counts the tokens of a text.

    Attributes:
        usage: By pair; whoever reads it may empty it.
    """

    def __init__(self, llm: LLM, count_tokens: Callable[[str], int]) -> None:
        self._llm = llm
        self._count = count_tokens
        self.usage: dict[Pair, Usage] = {}

    @property
    def name(self) -> str:
        """Identity of the engine."""
        return self._llm.name

    def complete(self, prompts: Sequence[Prompt]) -> Sequence[str | EngineError]:
        """Answer each prompt."""
        answers = self._llm.complete(prompts)
        for prompt, answer in zip(prompts, answers, strict=False):
            said = self._count(answer) if isinstance(answer, str) else 0
            asked = self._count(prompt.system) + self._count(prompt.user)
            self.usage[prompt.pair] = self.usage.get(prompt.pair, Usage()) + Usage(1, asked, said)
        return answers
