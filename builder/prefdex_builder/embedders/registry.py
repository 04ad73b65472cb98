"""Which embedder a URI means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from prefdex_shared.encoder import Encoder
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.vectors import Float32

_TORCH = "torch:"


class Embedder(Protocol):
    """Turns the corpus's texts into vectors in the encoder's space."""

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return float32, (n, dim), L2-normalized."""
        ...


def runs_on_gpu(uri: str) -> bool:
    """Whether an embedder is made for GPUs."""
    return uri.startswith(_TORCH)


def open_embedder(uri: str, encoder: Encoder) -> Embedder:
    """Open an embedder.

    Args:
        uri: Empty for the encoder itself, or `torch:MODEL`.
        encoder: The encoder that devices have.

    Raises:
        ConfigurationError: There is no such embedder, or its vectors are not in the encoder's space.
        MissingExtraError: The `torch` extra is needed.
    """
    if not uri:
        return encoder
    if runs_on_gpu(uri) and uri != _TORCH:
        from .by_torch import TorchEmbedder

        return TorchEmbedder(uri.removeprefix(_TORCH), encoder)
    raise ConfigurationError(f"There is no embedder {uri!r}.", hint="Use none, or torch:MODEL.")
