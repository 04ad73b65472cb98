"""`torch:MODEL`: a sentence-transformers model in batches, on a GPU where there is one. Needs the `torch` extra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prefdex_shared.encoder import Encoder
from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.ids import scrub
from prefdex_shared.vectors import Float32, normalize

from ..encoders.sentences import GOLDEN

MIN_PARITY = 0.98
"""Least mean cosine of its vectors and the encoder's over the golden sentences."""

_BATCH = 256


class TorchEmbedder:
    """The model that an encoder was exported from.

    Args:
        model: Folder, or name of a model that is on this machine or can be fetched; code that comes with it is never
            run.
        encoder: The encoder that devices have.

    Raises:
        ConfigurationError: The model cannot be loaded, or is another one.
        MissingExtraError: The `torch` extra is not installed.
    """

    def __init__(self, model: str, encoder: Encoder) -> None:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError as error:
            raise MissingExtraError("sentence-transformers", "torch") from error
        device = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            self._model = SentenceTransformer(model, device=device, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{model} is no sentence-transformers model that can be loaded ({type(error).__name__})."
            ) from error
        self._model.max_seq_length = min(int(self._model.max_seq_length), encoder.max_tokens)
        mine, theirs = self.encode(GOLDEN), encoder.encode(GOLDEN)
        parity = float(np.sum(mine * theirs, axis=1).mean()) if mine.shape == theirs.shape else 0.0
        if parity < MIN_PARITY:
            raise ConfigurationError(
                f"{model} is not the model that the encoder was exported from: mean cosine {parity:.3f}, "
                f"{MIN_PARITY} is the least allowed.",
                hint="Give that model, or embed with the encoder itself.",
            )

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode in batches: float32, (n, dim), L2-normalized."""
        vectors = self._model.encode(
            [scrub(text) for text in texts], batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True
        )
        return normalize(vectors)
