"""A folder with an ONNX model as the source, and quantization to int8."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefdex_shared.encoder import EncoderSpec, OnnxEncoder
from prefdex_shared.encoder.onnx import load_session, load_tokenizer
from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.vectors import Float32

from .source import ModelFiles

_MODEL_PLACES = ("model.onnx", "onnx/model.onnx")
_DEFAULT_MAX_TOKENS = 256


class OnnxSource:
    """A folder that holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.

    Pooling and length are read from the files that sentence-transformers leaves beside a model, where there are any.

    Args:
        folder: The folder.
        pooling: Overrides what the folder says; `mean` where it says nothing.
        max_tokens: Overrides what the folder says; 256 where it says nothing.
    """

    def __init__(self, folder: Path, *, pooling: str | None = None, max_tokens: int | None = None) -> None:
        found = [folder / place for place in _MODEL_PLACES if (folder / place).is_file()]
        tokenizer = folder / "tokenizer.json"
        if not found or not tokenizer.is_file():
            raise ConfigurationError(
                f"{folder} has no ONNX model: model.onnx (or onnx/model.onnx) and tokenizer.json are needed.",
                hint="Give a folder with both, or the name of a sentence-transformers model.",
            )
        self._files = ModelFiles(
            found[0], tokenizer, pooling or _pooling(folder), max_tokens or _max_tokens(folder) or _DEFAULT_MAX_TOKENS
        )
        self._folder = folder
        self._encoder: OnnxEncoder | None = None

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self._folder.resolve().name

    def files(self, scratch: Path) -> ModelFiles:  # noqa: ARG002 - the Protocol's
        """Provide the files where they are."""
        return self._files

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode with the fp32 model: float32, (n, dim), L2-normalized."""
        if self._encoder is None:
            self._encoder = encoder_of(self._files)
        return self._encoder.encode(texts)


def encoder_of(files: ModelFiles) -> OnnxEncoder:
    """Load files that are not an encoder folder yet. Its id means nothing."""
    session = load_session(files.model, 1)
    dim = session.get_outputs()[0].shape[-1]
    if not isinstance(dim, int):
        dim = _probe_dim(files, session)
    spec = EncoderSpec(dim, files.pooling, files.max_tokens, "fp32", "", {}, ())
    return OnnxEncoder(spec, session, load_tokenizer(files.tokenizer))


def copy_model(source: Path, destination: Path) -> None:
    """Copy a model into one file, weights included."""
    onnx = _onnx()
    onnx.save_model(onnx.load(str(source)), str(destination))


def quantize(source: Path, destination: Path) -> None:
    """Write a dynamically quantized model: int8 weights with a scale per channel.

    One scale per tensor costs about 0.04 of cosine on MiniLM, one per channel 0.005.
    """
    _onnx()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it warns through the root logger that a pre-processing step was skipped
    try:
        quantize_dynamic(str(source), str(destination), weight_type=QuantType.QInt8, per_channel=True)
    finally:
        root.setLevel(level)


def _onnx() -> Any:
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise MissingExtraError("onnx", "builder") from error
    return onnx


def _probe_dim(files: ModelFiles, session: Any) -> int:
    spec = EncoderSpec(1, files.pooling, files.max_tokens, "fp32", "", {}, ())
    vectors = OnnxEncoder(spec, session, load_tokenizer(files.tokenizer)).encode(["a"])
    return int(vectors.shape[1])


def _pooling(folder: Path) -> str:
    settings = _settings(folder / "1_Pooling" / "config.json")
    return "cls" if settings.get("pooling_mode_cls_token") is True else "mean"


def _max_tokens(folder: Path) -> int | None:
    value = _settings(folder / "sentence_bert_config.json").get("max_seq_length")
    return value if isinstance(value, int) else None


def _settings(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
