"""The settings of a build, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from prefdex_shared.errors import ConfigurationError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.steering import Scoring

from .engines import LLMConfig


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """What is built, and how.

    Attributes:
        filtering: Threshold and caps of the coarse filter.
        llm: The engine that judges and writes.
        scoring: Defaults of steering, for the device.
        valid_days: Days until a bundle expires.
        max_failed_share: Above this share of failed pairs the build ends without a bundle.
    """

    filtering: FilterConfig = field(default_factory=FilterConfig)
    llm: LLMConfig = field(default_factory=LLMConfig)
    scoring: Scoring = field(default_factory=Scoring)
    valid_days: int = 365
    max_failed_share: float = 0.05

    def __post_init__(self) -> None:
        if not 0 <= self.max_failed_share <= 1:
            raise ConfigurationError("max_failed_share is a share between 0 and 1.")
        if self.valid_days < 1:
            raise ConfigurationError("A bundle must be valid for at least 1 day.")
