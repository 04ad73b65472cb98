"""The encoder on onnxruntime.

Texts are encoded one at a time and unpadded. A dynamically quantized model's vector depends on what else is in its
batch (onnxruntime issue 10111), and on CPUs batches of short texts are no faster: so a text has one vector, wherever
it is encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EngineError, MissingExtraError
from ..ids import EncoderId, scrub
from ..vectors import Float32, normalize
from .folder import MODEL_FILE, TOKENIZER_FILE, EncoderSpec, read_spec, verify_files

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class GoldenCheck:
    """How far this machine's vectors are from those of the machine that exported the encoder.

    Attributes:
        mean_cosine: Mean over the golden sentences.
        min_cosine: The worst of them.
    """

    mean_cosine: float
    min_cosine: float


class OnnxEncoder:
    """A sentence encoder from an encoder folder. Safe to use from several threads.

    Args:
        spec: The folder's description.
        session: The loaded model.
        tokenizer: The loaded tokenizer, without padding and truncation.
    """

    def __init__(self, spec: EncoderSpec, session: InferenceSession, tokenizer: Tokenizer) -> None:
        self.spec = spec
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = frozenset(each.name for each in session.get_inputs())
        self._output = [session.get_outputs()[0].name]

    @classmethod
    def load(cls, folder: str | Path, *, n_threads: int = 1, verify: bool = True) -> OnnxEncoder:
        """Load an encoder folder.

        Args:
            folder: The folder.
            n_threads: Threads of one inference.
            verify: Check the hash of every file first.

        Raises:
            ConfigurationError: There is no such folder.
            FormatError: A file differs from its hash.
            MissingExtraError: onnxruntime or tokenizers is not installed.
        """
        folder = Path(folder)
        spec = read_spec(folder)
        if verify:
            verify_files(folder, spec)
        session = load_session(folder / MODEL_FILE, n_threads)
        return cls(spec, session, load_tokenizer(folder / TOKENIZER_FILE))

    @property
    def id(self) -> EncoderId:
        """Identity of the vector space."""
        return self.spec.id

    @property
    def dim(self) -> int:
        """Number of components of a vector."""
        return self.spec.dim

    @property
    def max_tokens(self) -> int:
        """Most tokens that are read of a text, special tokens included."""
        return self.spec.max_tokens

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode texts, each alone: float32, (n, dim), L2-normalized."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return normalize(np.stack([self._encode_one(text) for text in texts]))

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, special tokens included, without truncation."""
        return len(self._tokenizer.encode(scrub(text)).ids)

    def check(self) -> GoldenCheck:
        """Encode the golden sentences and compare."""
        vectors = self.encode([sentence.text for sentence in self.spec.golden])
        cosines = np.sum(vectors * normalize(self.spec.golden_vectors()), axis=1)
        return GoldenCheck(float(cosines.mean()), float(cosines.min()))

    def _encode_one(self, text: str) -> Float32:
        ids = self._tokenizer.encode(scrub(text)).ids
        if len(ids) > self.max_tokens:
            # The closing special token stays, as the model was trained with it.
            ids = [*ids[: self.max_tokens - 1], ids[-1]]
        row = np.array([ids], dtype=np.int64)
        feeds = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        output = self._session.run(self._output, {name: feeds[name] for name in self._inputs})[0]
        return self._pool(output)

    def _pool(self, output: Float32) -> Float32:
        if self.spec.pooling == "none":
            vector: Float32 = output[0]
        elif self.spec.pooling == "cls":
            vector = output[0, 0]
        else:
            # There is no padding, so the mean over all tokens is the masked mean.
            vector = output[0].mean(axis=0)
        return vector


def load_session(model: Path, n_threads: int) -> InferenceSession:
    """Load a model for the CPU, with threads that do not spin while they wait.

    Raises:
        MissingExtraError: onnxruntime is not installed.
        EngineError: The model cannot be loaded.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise MissingExtraError("onnxruntime", "client") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EngineError(f"{model} cannot be loaded: {error}", retryable=False) from error


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer without padding and truncation, whatever its file says.

    Raises:
        MissingExtraError: tokenizers is not installed.
        EngineError: The tokenizer cannot be loaded.
    """
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise MissingExtraError("tokenizers", "client") from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise EngineError(f"{path} cannot be loaded: {error}", retryable=False) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
