"""The window: chunks of recent documents with their vectors, each in a file of its own.

A preference that is added later is matched against them without encoding them again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prefdex_shared import wire
from prefdex_shared.errors import FormatError
from prefdex_shared.records import Chunk
from prefdex_shared.shard import MAX_DIM, MAX_SOURCE_CHARACTERS, MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS
from prefdex_shared.vectors import Float16

FORMAT = 1
MAX_CHUNK_BYTES = 256 << 10

_FIELDS = ("format", "text", "title", "source", "vector")
_FLOAT16 = np.dtype("<f2")


@dataclass(frozen=True, slots=True)
class WindowChunk:
    """A chunk that came to the device.

    Attributes:
        chunk: The chunk.
        vector: float16, (dim,), L2-normalized: of its text.
    """

    chunk: Chunk
    vector: Float16


def encode(held: WindowChunk) -> bytes:
    """Encode a chunk of the window."""
    chunk = held.chunk
    return wire.pack(
        {
            "format": FORMAT,
            "text": chunk.text,
            "title": chunk.title,
            "source": chunk.source,
            "vector": held.vector.astype(_FLOAT16).tobytes(),
        }
    )


def decode(data: bytes) -> WindowChunk:
    """Decode a chunk of the window.

    Raises:
        FormatError: It is none.
    """
    value = wire.unpack(data, "window", MAX_CHUNK_BYTES)
    wire.check_format(value, "window", FORMAT)
    fields = wire.Fields(value, "window", _FIELDS)
    vector = fields.data("vector", 2 * MAX_DIM)
    if len(vector) % 2:
        raise FormatError("window: 'vector' is not of 16-bit floats.")
    return WindowChunk(
        Chunk(
            fields.text("text", MAX_TEXT_CHARACTERS),
            fields.text("title", MAX_TITLE_CHARACTERS),
            fields.text("source", MAX_SOURCE_CHARACTERS),
        ),
        np.frombuffer(vector, dtype=_FLOAT16).astype(np.float16),
    )
