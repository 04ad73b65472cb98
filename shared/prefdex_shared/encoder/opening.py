"""Opening an encoder by its location."""

from __future__ import annotations

from pathlib import Path

from .fake import HashingEncoder
from .onnx import OnnxEncoder
from .protocol import Encoder

HASHING = "hashing:"
"""Location of the encoder without a model, for tests."""


def open_encoder(location: str | Path) -> Encoder:
    """Open an encoder folder, or `hashing:`, the encoder without a model.

    Raises:
        ConfigurationError: There is no such folder.
        FormatError: A file of it differs from its hash.
        MissingExtraError: onnxruntime or tokenizers is not installed.
    """
    return HashingEncoder() if str(location) == HASHING else OnnxEncoder.load(location)
