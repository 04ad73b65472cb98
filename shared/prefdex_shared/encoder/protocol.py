"""What an encoder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..ids import EncoderId
from ..vectors import Float32


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors; two encoders with one id give the same vectors."""

    @property
    def id(self) -> EncoderId:
        """Identity of the vector space: 40 lower-case hex digits."""
        ...

    @property
    def dim(self) -> int:
        """Number of components of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens that are read of a text, special tokens included."""
        ...

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode texts, each independently of the others.

        Returns:
            float32, (n, dim), L2-normalized.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, special tokens included, without truncation."""
        ...
