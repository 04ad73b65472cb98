"""A sentence-transformers model as the source. Needs the `torch` extra."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.vectors import Float32, normalize

from .source import ModelFiles

_OPSET = 17
_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


class TorchSource:
    """A sentence-transformers model, by name or folder. Code that comes with a model is never run.

    Args:
        name: Folder, or name of a model that is on this machine or can be fetched.
    """

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError as error:
            raise MissingExtraError("sentence-transformers", "torch") from error
        try:
            # Fused attention has no ONNX form in this opset.
            self._model = SentenceTransformer(
                name, device="cpu", trust_remote_code=False, model_kwargs={"attn_implementation": "eager"}
            )
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{name} is no sentence-transformers model that can be loaded: {error}".splitlines()[0],
                hint="Give the folder of a model, or a folder with model.onnx and tokenizer.json.",
            ) from error
        self._name = name

    @property
    def name(self) -> str:
        """Name of the model."""
        return Path(self._name).name

    def files(self, scratch: Path) -> ModelFiles:
        """Export the whole model, pooling and normalization included, as one graph."""
        model, tokenizer = scratch / "source.onnx", scratch / "tokenizer.json"
        _export(self._model, model)
        self._model.tokenizer.backend_tokenizer.save(str(tokenizer))
        return ModelFiles(model, tokenizer, "none", int(self._model.max_seq_length))

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode with torch: float32, (n, dim), L2-normalized."""
        vectors = [self._model.encode(text, show_progress_bar=False, convert_to_numpy=True) for text in texts]
        return normalize(np.stack(vectors))


def _export(model: Any, path: Path) -> None:
    import torch

    class Whole(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            features = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
            return self.model(features)["sentence_embedding"]

    example = torch.ones((1, 8), dtype=torch.int64)
    axes = {name: {0: "batch", 1: "tokens"} for name in _INPUTS} | {"sentence_embedding": {0: "batch"}}
    with warnings.catch_warnings(), torch.no_grad():
        # The exporter warns about constants in the traced attention masks and about its own age.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Whole().eval(),
            (example, example, torch.zeros_like(example)),
            str(path),
            input_names=_INPUTS,
            output_names=["sentence_embedding"],
            dynamic_axes=axes,
            opset_version=_OPSET,
            dynamo=False,
        )
