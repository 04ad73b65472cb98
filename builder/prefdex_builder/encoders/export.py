"""`prefdex encoder export`: a model becomes an encoder folder, and is only written if it still is the same encoder."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from prefdex_shared.encoder import EncoderSpec, GoldenSentence, OnnxEncoder
from prefdex_shared.encoder.folder import MODEL_FILE, SPEC_FILE, TOKENIZER_FILE, hash_file
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.files import new_folder

from . import onnx_files
from .sentences import GOLDEN, PARITY
from .source import ModelFiles, Source

MIN_PARITY = 0.98
"""An export whose worst cosine to its source is below this is refused."""

PRECISIONS = ("fp32", "int8")

_DIGITS = 7


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What was exported.

    Attributes:
        encoder_id: Identity of the new encoder.
        source: Name of the model.
        precision: `fp32` or `int8`.
        dim: Components of a vector.
        max_tokens: Most tokens of a text.
        model_bytes: Size of `model.onnx`.
        mean_parity: Mean cosine to the source's own vectors.
        min_parity: The worst of them.
        n_sentences: How many were compared.
    """

    encoder_id: str
    source: str
    precision: str
    dim: int
    max_tokens: int
    model_bytes: int
    mean_parity: float
    min_parity: float
    n_sentences: int


def open_source(model: str, *, pooling: str | None = None, max_tokens: int | None = None) -> Source:
    """Choose the kind of source: a folder with an ONNX model, else a sentence-transformers model.

    Raises:
        ConfigurationError: It is neither.
        MissingExtraError: The `torch` extra is needed.
    """
    folder = Path(model)
    if folder.is_dir() and any((folder / name).is_file() for name in ("model.onnx", "onnx/model.onnx")):
        return onnx_files.OnnxSource(folder, pooling=pooling, max_tokens=max_tokens)
    from .torch_source import TorchSource

    return TorchSource(model)


def export(source: Source, destination: Path, *, precision: str = "int8") -> ExportReport:
    """Write an encoder folder, whole or not at all.

    Args:
        source: The model.
        destination: The new folder; must not exist, or be empty.
        precision: `int8` (per-channel dynamic quantization) or `fp32`.

    Raises:
        ConfigurationError: The destination is taken, or parity with the source is below `MIN_PARITY`.
    """
    if precision not in PRECISIONS:
        raise ConfigurationError(f"The precision is {' or '.join(PRECISIONS)}, not {precision!r}.")
    if destination.exists() and (not destination.is_dir() or any(destination.iterdir())):
        raise ConfigurationError(f"{destination} exists and is not an empty folder.", hint="Choose another folder.")
    with tempfile.TemporaryDirectory() as scratch, new_folder(destination) as folder:
        return _write(source, source.files(Path(scratch)), folder, precision)


def _write(source: Source, files: ModelFiles, folder: Path, precision: str) -> ExportReport:
    write_model = onnx_files.quantize if precision == "int8" else onnx_files.copy_model
    write_model(files.model, folder / MODEL_FILE)
    shutil.copyfile(files.tokenizer, folder / TOKENIZER_FILE)
    encoder = onnx_files.encoder_of(
        ModelFiles(folder / MODEL_FILE, folder / TOKENIZER_FILE, files.pooling, files.max_tokens)
    )
    exported = encoder.encode(PARITY)
    cosines = np.sum(exported * source.encode(PARITY), axis=1)
    if cosines.min() < MIN_PARITY:
        raise ConfigurationError(
            f"The export differs from its source: cosine {cosines.min():.4f} on the worst sentence, "
            f"{MIN_PARITY} is the least allowed.",
            hint="Use --precision fp32, or check the pooling of the model.",
        )
    vectors = np.round(exported[: len(GOLDEN)].astype(float), _DIGITS).tolist()
    spec = EncoderSpec(
        dim=encoder.dim,
        pooling=files.pooling,
        max_tokens=files.max_tokens,
        precision=precision,
        source=source.name,
        files={name: hash_file(folder / name) for name in (MODEL_FILE, TOKENIZER_FILE)},
        golden=tuple(GoldenSentence(text, tuple(vector)) for text, vector in zip(GOLDEN, vectors, strict=True)),
    )
    (folder / SPEC_FILE).write_text(spec.to_json(), encoding="utf-8")
    return ExportReport(
        encoder_id=OnnxEncoder.load(folder).id,
        source=source.name,
        precision=precision,
        dim=spec.dim,
        max_tokens=spec.max_tokens,
        model_bytes=(folder / MODEL_FILE).stat().st_size,
        mean_parity=float(cosines.mean()),
        min_parity=float(cosines.min()),
        n_sentences=len(PARITY),
    )
