"""The encoder folder: `model.onnx`, `tokenizer.json`, and `encoder.json`, which describes and pins both.

The id of an encoder is a hash over the hashes of all files and the settings that change its vectors, so a folder with
one changed byte is another encoder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..errors import ConfigurationError, FormatError
from ..ids import EncoderId, content_hash
from ..vectors import Float32
from ..wire import check_format

FORMAT = 1
SPEC_FILE = "encoder.json"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
POOLINGS = ("mean", "cls", "none")
"""How token vectors become one vector; `none` where the graph already gives one per text."""

_READ_BYTES = 1 << 20
_MAX_SPEC_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class GoldenSentence:
    """A sentence and the vector that the exported model gave for it, to check an encoder on another machine.

    Attributes:
        text: The sentence.
        vector: dim components, L2-normalized.
    """

    text: str
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """The content of `encoder.json`.

    Attributes:
        dim: Components of a vector.
        pooling: One of `POOLINGS`.
        max_tokens: Most tokens of a text, special tokens included.
        precision: `fp32` or `int8`.
        source: Name of the model that was exported.
        files: SHA-256 of each file of the folder, as hex.
        golden: Sentences with their vectors.
    """

    dim: int
    pooling: str
    max_tokens: int
    precision: str
    source: str
    files: Mapping[str, str]
    golden: tuple[GoldenSentence, ...]

    @property
    def id(self) -> EncoderId:
        """Identity of the vector space."""
        files = [part for name in sorted(self.files) for part in (name, self.files[name])]
        settings = (str(self.dim), self.pooling, str(self.max_tokens))
        return EncoderId(content_hash("prefdex/encoder/1", *settings, *files))

    def golden_vectors(self) -> Float32:
        """Return float32, (n, dim), L2-normalized."""
        return np.array([sentence.vector for sentence in self.golden], dtype=np.float32).reshape(-1, self.dim)

    def to_json(self) -> str:
        """Return the text of `encoder.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read_spec(folder: Path) -> EncoderSpec:
    """Read `encoder.json`.

    Raises:
        ConfigurationError: There is no such folder.
        FormatError: The file is not of the format.
    """
    path = folder / SPEC_FILE
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= _MAX_SPEC_BYTES else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"There is no encoder folder at {folder}: {path.name} cannot be read ({type(error).__name__}).",
            hint="Make one with: prefdex encoder export MODEL FOLDER",
        ) from error
    try:
        return _spec(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(f"{path} is not an encoder description: {error}", hint="Export the encoder again.") from error


def verify_files(folder: Path, spec: EncoderSpec) -> None:
    """Check the hash of every file of the folder.

    Raises:
        FormatError: A file is missing or differs.
    """
    for name, expected in spec.files.items():
        if hash_file(folder / name) != expected:
            raise FormatError(
                f"{folder / name} differs from the hash in {SPEC_FILE}.", hint="Copy or export the encoder again."
            )


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file as hex; empty for a file that cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_READ_BYTES):
                digest.update(block)
    except OSError:
        return ""
    return digest.hexdigest()


def _spec(fields: dict[str, object]) -> EncoderSpec:
    check_format(fields, SPEC_FILE, FORMAT)
    del fields["format"]
    golden, files = fields.pop("golden"), fields.pop("files")
    if not isinstance(golden, list) or not isinstance(files, dict):
        raise ValueError("golden is not a list, or files is not an object")
    if set(files) < {MODEL_FILE, TOKENIZER_FILE} or any("/" in name or "\\" in name or ".." in name for name in files):
        raise ValueError("files must name plain files, model.onnx and tokenizer.json among them")
    sentences = tuple(GoldenSentence(str(each["text"]), tuple(map(float, each["vector"]))) for each in golden)
    spec = EncoderSpec(golden=sentences, files={str(name): str(value) for name, value in files.items()}, **fields)  # type: ignore[arg-type]
    if spec.pooling not in POOLINGS or not 0 < spec.dim <= 8192 or not 8 <= spec.max_tokens <= 32768:
        raise ValueError("pooling, dim or max_tokens is out of range")
    if any(len(sentence.vector) != spec.dim for sentence in sentences):
        raise ValueError("a golden vector has not dim components")
    return spec
