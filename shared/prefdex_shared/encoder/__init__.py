"""The one text encoder that builder and device share, so that both live in one vector space."""

from .fake import HashingEncoder
from .folder import EncoderSpec, GoldenSentence, read_spec
from .onnx import OnnxEncoder
from .opening import HASHING, open_encoder
from .protocol import Encoder

__all__ = [
    "HASHING",
    "Encoder",
    "EncoderSpec",
    "GoldenSentence",
    "HashingEncoder",
    "OnnxEncoder",
    "open_encoder",
    "read_spec",
]
