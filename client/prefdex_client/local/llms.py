"""What judges and writes on a device: any engine, any callable, a server, or no language model at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prefdex_shared.encoder import Encoder
from prefdex_shared.errors import ConfigurationError, EngineError
from prefdex_shared.extractive import ExtractiveLLM
from prefdex_shared.llm import LLM, Prompt

LocalLLM = LLM | Callable[[str], str] | str | None
"""An engine; a function from a prompt to JSON; `openai:URL#MODEL` or `extractive:`; None for `extractive:`."""


class CallableLLM:
    """A function of the app's, from a prompt to a JSON text.

    Args:
        function: The function. What it raises is that prompt's failure.
    """

    name = "callable"

    def __init__(self, function: Callable[[str], str]) -> None:
        self._function = function

    def complete(self, prompts: Sequence[Prompt]) -> list[str | EngineError]:
        """Answer each prompt."""
        return [self._one(prompt) for prompt in prompts]

    def _one(self, prompt: Prompt) -> str | EngineError:
        try:
            return self._function(f"{prompt.system}\n\n{prompt.user}")
        except Exception as error:  # noqa: BLE001 - one prompt's failure costs no other its answer
            return EngineError(f"The function raised {type(error).__name__}.", retryable=True)


def open_llm(llm: LocalLLM, encoder: Encoder, tau: float) -> LLM:
    """Return an engine.

    Raises:
        ConfigurationError: There is none of that kind.
    """
    if llm is None or llm == "extractive:":
        return ExtractiveLLM(encoder, tau)
    if isinstance(llm, str):
        if llm.startswith("openai:"):
            from prefdex_shared.openai_http import OpenAiLLM  # brings in urllib, for who does without

            return OpenAiLLM(llm)
        raise ConfigurationError(
            "There is no such language model on a device.", hint="Use extractive:, openai:URL#MODEL, or a function."
        )
    return llm if isinstance(llm, LLM) else CallableLLM(llm)
