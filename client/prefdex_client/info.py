"""What a memory says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prefdex_shared.steering import Scoring

from .hits import Origin


@dataclass(frozen=True, slots=True)
class PreferenceInfo:
    """A preference of the memory.

    Attributes:
        text: The preference.
        n_entries: Chunks kept for it.
        shard_bytes: Size of its shard.
        origin: `signed` by the publisher; `local`, made on this device; or `pending`, waiting for its shard.
    """

    text: str
    n_entries: int
    shard_bytes: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Stats:
    """What a memory is.

    Attributes:
        audience: Opaque id of the user.
        version: Version of the bundle.
        issued: When it was signed (UTC).
        expires: When its signed metadata expire (UTC).
        stale: Whether they have.
        encoder_id: Encoder that questions are encoded with.
        llm: Name of the engine that judged and wrote.
        bundle_bytes: Size of the `.pdx`, or of the store's files of this version.
        n_preferences: Preferences, those without entries included.
        n_entries: (chunk, preference) pairs.
        n_chunks: Distinct chunks.
        signed_by: Ids of the keys that signed it.
        scoring: Defaults of steering.
    """

    audience: str
    version: int
    issued: datetime
    expires: datetime
    stale: bool
    encoder_id: str
    llm: str
    bundle_bytes: int
    n_preferences: int
    n_entries: int
    n_chunks: int
    signed_by: tuple[str, ...]
    scoring: Scoring
