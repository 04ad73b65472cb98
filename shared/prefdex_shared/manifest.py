"""The manifest: what a bundle says about itself, apart from its shards.

Canonical msgpack, covered by the signed targets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import wire
from .errors import ConfigurationError, FormatError
from .ids import EncoderId
from .steering import MAX_SHARPNESS, Scoring

FORMAT = 1
MAX_MANIFEST_BYTES = 64 << 10
MAX_SHARDS = 1_000
MAX_LLM_CHARACTERS = 300

_AUDIENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_FIELDS = ("format", "audience", "encoder", "llm", "scoring", "n_shards")
_SCORING = ("preference_weight", "tag_weight", "gate", "sharpness", "evidence")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A bundle's description.

    Attributes:
        audience: Opaque id of the user that the bundle is for.
        encoder_id: Questions must be encoded by this encoder.
        llm: Name of the engine that judged and wrote; `extractive` says that no language model did.
        scoring: Defaults of steering.
        n_shards: Number of shards; they stand in the order of the user's preferences.
    """

    audience: str
    encoder_id: EncoderId
    llm: str
    scoring: Scoring
    n_shards: int

    @property
    def shard_names(self) -> list[str]:
        """Names of the shards' files, in the order of the preferences."""
        return [f"s{index}" for index in range(self.n_shards)]


def check_audience(audience: str) -> str:
    """Return an audience id that is fit for file names and keys.

    Raises:
        ConfigurationError: It is not.
    """
    if not _AUDIENCE.fullmatch(audience):
        raise ConfigurationError(
            f"{audience[:80]!r} is not a user id.",
            hint="Use an opaque id of 1 to 64 letters, digits and . _ @ + - that begins with a letter or a digit.",
        )
    return audience


def encode(manifest: Manifest) -> bytes:
    """Encode a manifest."""
    scoring = manifest.scoring
    return wire.pack(
        {
            "format": FORMAT,
            "audience": check_audience(manifest.audience),
            "encoder": bytes.fromhex(manifest.encoder_id),
            "llm": manifest.llm[:MAX_LLM_CHARACTERS],
            "scoring": {name: float(getattr(scoring, name)) for name in _SCORING},
            "n_shards": manifest.n_shards,
        }
    )


def decode(data: bytes) -> Manifest:
    """Decode a manifest whose bytes have been verified.

    Raises:
        FormatError: Not a manifest.
        NewerFormatError: Written for a newer prefdex.
    """
    value = wire.unpack(data, "manifest", MAX_MANIFEST_BYTES)
    wire.check_format(value, "manifest", FORMAT)
    fields = wire.Fields(value, "manifest", _FIELDS)
    knobs = wire.Fields(fields.raw("scoring"), "manifest.scoring", _SCORING)
    try:
        scoring = Scoring(*(knobs.number(name, -1.0, MAX_SHARPNESS) for name in _SCORING))
        audience = check_audience(fields.text("audience", 64))
    except ConfigurationError as error:
        raise FormatError(f"manifest: {error}") from error
    encoder_id = EncoderId(fields.data("encoder", 20).hex())
    return Manifest(
        audience, encoder_id, fields.text("llm", MAX_LLM_CHARACTERS), scoring, fields.integer("n_shards", 0, MAX_SHARDS)
    )
