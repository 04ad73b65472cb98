"""The settings of a build, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from prefdex_shared.chunking import ChunkConfig
from prefdex_shared.encoder import HASHING, read_spec
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.steering import Scoring

from .engines import LLMConfig
from .preselectors import ENGINES, FilterEngine

MAX_VALID_DAYS = 36_500

TAU_BY_ENCODER = {
    # About 1 % of pairs of a mixed corpus pass, and no preference of 570 starves (docs/BENCHMARKS.md).
    "all-MiniLM-L6-v2": 0.25,
    # As the paper has it.
    "contriever": 0.3,
}
"""The default threshold, by the model that an encoder was exported from: cosines of two models do not compare. For any
other, `prefdex calibrate` shows what a threshold would keep."""


def default_tau(encoder: str) -> float:
    """Return the default threshold for an encoder.

    Args:
        encoder: Its location.
    """
    if encoder == HASHING:
        return FilterConfig().tau
    source = read_spec(Path(encoder)).source.rstrip("/").rpartition("/")[2]
    return TAU_BY_ENCODER.get(source, FilterConfig().tau)


@dataclass(frozen=True, slots=True)
class CorpusConfig:
    """How documents become embedded chunks.

    Attributes:
        target_words: Words per chunk.
        embedder: What embeds: empty for the encoder itself, or on GPUs `torch:MODEL`.
    """

    target_words: int = ChunkConfig().target_words
    embedder: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What a language model costs.

    Attributes:
        prompt: Per million tokens of prompts, in any currency.
        output: Per million tokens of answers.
    """

    prompt: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.prompt < float("inf") and 0 <= self.output < float("inf")):
            raise ConfigurationError("A price is 0 or more.")

    def of(self, prompt_tokens: int, output_tokens: int) -> float | None:
        """Return what tokens cost; None where there is no price."""
        if not self.prompt and not self.output:
            return None
        return (prompt_tokens * self.prompt + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """What is built, and how.

    Attributes:
        filtering: Threshold and caps of the coarse filter.
        filter_engine: What does the coarse filter's products: `numpy`, or on GPUs `torch` or `faiss`.
        llm: The engine that judges and writes.
        price: What the engine costs.
        scoring: Defaults of steering, for the device.
        valid_days: Days until a bundle expires.
        max_bundle_bytes: A `.pdx` file never has more; None for no bound but the format's.
        max_failed_share: Above this share of failed pairs the build ends without a bundle.
    """

    filtering: FilterConfig = field(default_factory=FilterConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    filter_engine: FilterEngine = "numpy"
    price: Price = field(default_factory=Price)
    scoring: Scoring = field(default_factory=Scoring)
    valid_days: int = 365
    max_bundle_bytes: int | None = None
    max_failed_share: float = 0.05

    def __post_init__(self) -> None:
        if self.filter_engine not in ENGINES:
            raise ConfigurationError(f"There is no filter engine {self.filter_engine!r}.", hint=f"Use {ENGINES}.")
        if not 0 <= self.max_failed_share <= 1:
            raise ConfigurationError("max_failed_share is a share between 0 and 1.")
        if self.max_bundle_bytes is not None and self.max_bundle_bytes < 1:
            raise ConfigurationError("max_bundle_bytes is a number of bytes, at least 1.")
        if not 1 <= self.valid_days <= MAX_VALID_DAYS:
            raise ConfigurationError(f"A bundle is valid for 1 to {MAX_VALID_DAYS} days.")
