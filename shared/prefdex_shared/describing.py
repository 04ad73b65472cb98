"""What a bundle holds, for a person who looks into it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from . import container
from . import shard as shards
from .trust import verify_whole

_TITLE_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class ShardDescription:
    """A shard of a bundle.

    Attributes:
        preference: Its text.
        n_entries: Its entries.
        n_bytes: Its size.
        best_title: Title, or the beginning of the text, of its best entry.
    """

    preference: str
    n_entries: int
    n_bytes: int
    best_title: str


@dataclass(frozen=True, slots=True)
class BundleDescription:
    """A verified bundle.

    Attributes:
        audience: Opaque id of the user.
        version: Version of the bundle.
        expires: When its signed metadata expire (UTC).
        stale: Whether they have.
        signed_by: Ids of the keys that signed it.
        encoder_id: Encoder of its vectors.
        llm: Name of the engine that judged and wrote.
        bundle_bytes: Its size.
        shards: Its shards, in the user's order.
    """

    audience: str
    version: int
    expires: datetime
    stale: bool
    signed_by: tuple[str, ...]
    encoder_id: str
    llm: str
    bundle_bytes: int
    shards: tuple[ShardDescription, ...]


def describe(data: bytes, *, trust: bytes, audience: str) -> BundleDescription:
    """Verify a bundle and describe it; no encoder is needed.

    Args:
        data: Bytes of a `.pdx`.
        trust: The trust anchor: bytes of a `root.json`.
        audience: Opaque id of the user.

    Raises:
        TrustError: It is not to be believed.
        FormatError: It is damaged.
        ConfigurationError: It is a patch.
    """
    verified, manifest = verify_whole(container.decode(data), trust=trust, audience=audience)
    descriptions = []
    for name in manifest.shard_names:
        shard = shards.decode(verified.files[name], name)
        best = next((entry.title or entry.text[:_TITLE_CHARACTERS] for entry in shard.entries), "")
        descriptions.append(ShardDescription(shard.preference.text, len(shard.entries), verified.lengths[name], best))
    return BundleDescription(
        audience=audience,
        version=verified.version,
        expires=verified.expires,
        stale=verified.is_expired(),
        signed_by=verified.key_ids,
        encoder_id=manifest.encoder_id,
        llm=manifest.llm,
        bundle_bytes=len(data),
        shards=tuple(descriptions),
    )
