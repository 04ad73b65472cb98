"""Which engine a name means. An engine's own library is imported only when it is opened."""

from __future__ import annotations

from typing import Literal, get_args

from prefdex_shared.errors import ConfigurationError
from prefdex_shared.preselection import NumpyPreselector, Preselector
from prefdex_shared.vectors import Float32

FilterEngine = Literal["numpy", "torch", "faiss"]
ENGINES: tuple[FilterEngine, ...] = get_args(FilterEngine)


def runs_on_gpu(engine: str) -> bool:
    """Whether an engine is made for GPUs."""
    return engine != "numpy"


def open_preselector(engine: str, preferences: Float32) -> Preselector:
    """Open an engine.

    Args:
        engine: `numpy`, `torch` or `faiss`.
        preferences: float32, (m, dim), L2-normalized.

    Raises:
        ConfigurationError: There is no such engine.
        MissingExtraError: Its library is not installed.
    """
    if engine == "numpy":
        return NumpyPreselector(preferences)
    if engine == "torch":
        from .by_torch import TorchPreselector

        return TorchPreselector(preferences)
    if engine == "faiss":
        from .by_faiss import FaissPreselector

        return FaissPreselector(preferences)
    raise ConfigurationError(f"There is no filter engine {engine!r}.", hint=f"Use one of {', '.join(ENGINES)}.")
