"""The shard: the entries of one preference over the corpus, best first.

It is the one unit of bundle, patch, cache and forgetting.

A shard names no user and no snapshot, and what follows from something else is not stored: the ids of the preference
and of the chunks follow from their texts. Encoding is a pure function, so equal content is equal bytes.

Layout, a msgpack map:

    format   1
    codec    "brotli": how body and codes are compressed
    body     a msgpack map of the preference's text, the encoder, the codes' step and the entries by column
    codes    int8, (1 + n, dim), row by row: the preference, then each entry's instruction (module `codes`)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import ranking, wire
from .codes import dequantize, from_bytes, quantize, to_bytes
from .errors import ConfigurationError, FormatError, TooLargeError
from .ids import EncoderId
from .records import Entry, Preference
from .vectors import Float32, Int8

FORMAT = 1
CODEC = "brotli"

MAX_SHARD_BYTES = 4 << 20
MAX_BODY_BYTES = 8 << 20
MAX_CODES_BYTES = 16 << 20
MAX_ENTRIES = 16_384
MAX_DIM = 8192
MAX_PREFERENCE_CHARACTERS = 4_000
MAX_TEXT_CHARACTERS = 16_000
MAX_TITLE_CHARACTERS = 1_000
MAX_SOURCE_CHARACTERS = 2_000
MAX_INSTRUCTION_CHARACTERS = 4_000

_ENCODER_BYTES = 20
_CONFIDENCE_STEPS = 1_000
_SIMILARITY_STEPS = 10_000
_COLUMNS = {
    "texts": MAX_TEXT_CHARACTERS,
    "titles": MAX_TITLE_CHARACTERS,
    "sources": MAX_SOURCE_CHARACTERS,
    "instructions": MAX_INSTRUCTION_CHARACTERS,
}
_MAX_STEP = 1.0
_BODY = ("preference", "encoder", "dim", "step", *_COLUMNS, "confidences", "similarities")
MAX_BODY_ITEMS = 2 * len(_BODY) + (len(_COLUMNS) + 2) * MAX_ENTRIES


@dataclass(frozen=True, slots=True)
class Shard:
    """A decoded shard.

    Attributes:
        preference: The preference.
        encoder_id: The encoder of all its vectors.
        entries: Best first.
        codes: int8, (1 + n, dim): the preference, then each entry's instruction.
        step: A vector is about its codes times the step, a 32-bit float.
    """

    preference: Preference
    encoder_id: EncoderId
    entries: tuple[Entry, ...]
    codes: Int8
    step: float

    def first(self, n: int) -> Shard:
        """Return the shard with the n best entries only."""
        return replace(self, entries=self.entries[:n], codes=self.codes[: 1 + n])

    @property
    def dim(self) -> int:
        """Components of a vector."""
        return int(self.codes.shape[1])

    @property
    def preference_vector(self) -> Float32:
        """float32, (dim,), about L2-normalized."""
        vector: Float32 = dequantize(self.codes[:1], self.step)[0]
        return vector

    @property
    def vectors(self) -> Float32:
        """The instructions: float32, (n, dim), about L2-normalized rows."""
        return dequantize(self.codes[1:], self.step)


def pack(
    preference: Preference, encoder_id: EncoderId, entries: list[Entry], preference_vector: Float32, vectors: Float32
) -> Shard:
    """Round numbers as they are stored, quantize the vectors, and order the entries best first (module `ranking`).

    Args:
        preference: The preference.
        encoder_id: The encoder of the vectors.
        entries: n entries of distinct chunks, in any order.
        preference_vector: float32, (dim,), L2-normalized.
        vectors: float32, (n, dim), L2-normalized: the embeddings of the instructions.
    """
    entries = [_rounded(entry) for entry in entries]
    codes, step = quantize(np.vstack([preference_vector[None], vectors]))
    best_first = ranking.order(entries, codes[1:])
    rows = [0, *(1 + index for index in best_first)]
    return Shard(preference, encoder_id, tuple(entries[index] for index in best_first), codes[rows], step)


def extend(shard: Shard, entries: list[Entry], vectors: Float32) -> Shard:
    """Return a shard with more entries.

    The codes that it has stay as they are, so that rounding does not add up; only a component larger than any before
    makes the step coarser.

    Args:
        shard: The shard.
        entries: n entries of chunks that it does not have.
        vectors: float32, (n, dim), L2-normalized: the embeddings of their instructions.
    """
    more, step = quantize(vectors, shard.step)
    codes = shard.codes if step == shard.step else quantize(dequantize(shard.codes, shard.step), step)[0]
    codes = np.concatenate([codes, more])
    everything = [*shard.entries, *(_rounded(entry) for entry in entries)]
    best_first = ranking.order(everything, codes[1:])
    rows = [0, *(1 + index for index in best_first)]
    ordered = tuple(everything[index] for index in best_first)
    return Shard(shard.preference, shard.encoder_id, ordered, codes[rows], step)


def encode(shard: Shard) -> bytes:
    """Encode a shard; `decode` gives an equal one back.

    Raises:
        ConfigurationError: It is over one of the caps, so no reader would take it.
    """
    body = wire.pack(
        {
            "preference": shard.preference.text,
            "encoder": bytes.fromhex(shard.encoder_id),
            "dim": shard.dim,
            "step": shard.step,
            "texts": [entry.text for entry in shard.entries],
            "titles": [entry.title for entry in shard.entries],
            "sources": [entry.source for entry in shard.entries],
            "instructions": [entry.instruction for entry in shard.entries],
            "confidences": [round(entry.confidence * _CONFIDENCE_STEPS) for entry in shard.entries],
            "similarities": [round(entry.similarity * _SIMILARITY_STEPS) for entry in shard.entries],
        }
    )
    codes = wire.compress(to_bytes(shard.codes))
    data = wire.pack({"format": FORMAT, "codec": CODEC, "body": wire.compress(body), "codes": codes})
    try:
        decode(data, "shard")
    except FormatError as error:
        raise ConfigurationError(
            f"A shard of {len(shard.entries)} entries is over a cap of the format: {error}",
            hint="Lower max_candidates, or use smaller chunks.",
        ) from error
    return data


def decode(data: bytes, where: str) -> Shard:
    """Decode a shard whose bytes have been verified.

    Args:
        data: The bytes.
        where: Its name, for messages.

    Raises:
        FormatError: Not a shard.
        TooLargeError: Over a cap.
        NewerFormatError: Written for a newer prefdex.
    """
    outer_value = wire.unpack(data, where, MAX_SHARD_BYTES)
    wire.check_format(outer_value, where, FORMAT)
    outer = wire.Fields(outer_value, where, ("format", "codec", "body", "codes"))
    if outer.text("codec", 40) != CODEC:
        raise FormatError(f"{where}: its codec is not {CODEC!r}.")
    raw_body = wire.decompress(outer.data("body", MAX_SHARD_BYTES), where, MAX_BODY_BYTES)
    body = wire.Fields(wire.unpack(raw_body, where, MAX_BODY_BYTES, MAX_BODY_ITEMS), where, _BODY)
    entries = _entries(body)
    dim = body.integer("dim", 1, MAX_DIM)
    n_vectors = 1 + len(entries)
    if n_vectors * dim > MAX_CODES_BYTES:
        raise TooLargeError(f"{where}: {n_vectors} vectors of {dim} components are more than the format allows.")
    raw_codes = wire.decompress(outer.data("codes", MAX_SHARD_BYTES), where, n_vectors * dim)
    codes = from_bytes(raw_codes, n_vectors, dim, where)
    encoder_id = EncoderId(body.data("encoder", _ENCODER_BYTES).hex())
    return Shard(_preference(body), encoder_id, entries, codes, _step(body))


def _preference(body: wire.Fields) -> Preference:
    text = body.text("preference", MAX_PREFERENCE_CHARACTERS)
    preference = Preference(text)
    if preference.text != text or not text:
        raise FormatError(f"{body.where}: 'preference' is empty or not in normal form.")
    return preference


def _entries(body: wire.Fields) -> tuple[Entry, ...]:
    columns = [body.texts(name, MAX_ENTRIES, largest) for name, largest in _COLUMNS.items()]
    confidences = body.integers("confidences", MAX_ENTRIES, 0, _CONFIDENCE_STEPS)
    similarities = body.integers("similarities", MAX_ENTRIES, -_SIMILARITY_STEPS, _SIMILARITY_STEPS)
    if len({len(confidences), len(similarities), *map(len, columns)}) != 1:
        raise FormatError(f"{body.where}: the columns of the entries differ in length.")
    texts, titles, sources, instructions = columns
    entries = tuple(
        Entry(*words, confidence / _CONFIDENCE_STEPS, similarity / _SIMILARITY_STEPS)
        for words, confidence, similarity in zip(
            zip(texts, titles, sources, instructions, strict=True), confidences, similarities, strict=True
        )
    )
    if len({entry.text for entry in entries}) != len(entries):
        raise FormatError(f"{body.where}: two entries hold the same chunk.")
    return entries


def _step(body: wire.Fields) -> float:
    step = body.number("step", 0.0, _MAX_STEP)
    if not step > 0 or step != float(np.float32(step)):
        raise FormatError(f"{body.where}: 'step' is not a positive 32-bit float.")
    return step


def _rounded(entry: Entry) -> Entry:
    confidence = round(entry.confidence * _CONFIDENCE_STEPS) / _CONFIDENCE_STEPS
    similarity = round(entry.similarity * _SIMILARITY_STEPS) / _SIMILARITY_STEPS
    return Entry(entry.text, entry.title, entry.source, entry.instruction, confidence, similarity)
