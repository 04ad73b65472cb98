"""Which engine a URI means. An engine's own library is imported only when the engine is opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prefdex_shared.encoder import Encoder
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.extractive import DEFAULT_MARGIN, ExtractiveLLM
from prefdex_shared.llm import LLM, FakeLLM
from prefdex_shared.openai_http import OpenAiLLM

SCHEMES = ("extractive:", "llamacpp:", "openai:", "fake:")


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """Which engine judges and writes.

    Attributes:
        uri: `extractive:` (no language model), `llamacpp:FILE.gguf`, `openai:URL#MODEL`, or `fake:` (for tests).
        extractive_margin: How far above tau `extractive:` wants a pair to be.
        context_tokens: Context length of `llamacpp:`.
        n_threads: Threads of `llamacpp:`.
        pairs_at_once: Pairs that a worker puts to the engine before it stores the answers: what a crash may cost.
    """

    uri: str = "extractive:"
    extractive_margin: float = DEFAULT_MARGIN
    context_tokens: int = 4096
    n_threads: int = 1
    pairs_at_once: int = 8

    def __post_init__(self) -> None:
        if self.pairs_at_once < 1:
            raise ConfigurationError(f"pairs_at_once is at least 1, not {self.pairs_at_once}.")


def open_llm(config: LLMConfig, *, encoder: Encoder, tau: float) -> LLM:
    """Open an engine.

    Args:
        config: The engine's URI and settings.
        encoder: For engines that work on embeddings.
        tau: The coarse filter's threshold, for engines that work on similarities.

    Raises:
        ConfigurationError: There is no such engine, or its model is not there.
        MissingExtraError: Its library is not installed.
    """
    scheme, _, rest = config.uri.partition(":")
    if scheme == "extractive" and not rest:
        return ExtractiveLLM(encoder, tau, config.extractive_margin)
    if scheme == "fake" and not rest:
        return FakeLLM()
    if scheme == "llamacpp" and rest:
        from .llamacpp import LlamaCppLLM

        return LlamaCppLLM(Path(rest), context_tokens=config.context_tokens, n_threads=config.n_threads)
    if scheme == "openai" and rest:
        return OpenAiLLM(config.uri)
    raise ConfigurationError(
        f"There is no LLM engine {config.uri!r}.", hint=f"Use one of {', '.join(SCHEMES)} as in llamacpp:model.gguf"
    )
