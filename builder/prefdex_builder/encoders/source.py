"""What an encoder is exported from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from prefdex_shared.vectors import Float32


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """An fp32 model as files.

    Attributes:
        model: An ONNX file, with its weights inside or beside it.
        tokenizer: A `tokenizer.json`.
        pooling: How the model's output becomes one vector; see `prefdex_shared.encoder.folder.POOLINGS`.
        max_tokens: Most tokens of a text, special tokens included.
    """

    model: Path
    tokenizer: Path
    pooling: str
    max_tokens: int


class Source(Protocol):
    """A model to export."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    def files(self, scratch: Path) -> ModelFiles:
        """Provide the model as files; what must be made is made in `scratch`."""
        ...

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode as the source itself does: float32, (n, dim), L2-normalized."""
        ...
