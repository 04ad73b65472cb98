"""The shards of a verified bundle, decoded together."""

from __future__ import annotations

from . import shard as shards
from .errors import FormatError
from .manifest import Manifest
from .shard import Shard
from .trust import Verified


def read_shards(verified: Verified, manifest: Manifest) -> list[Shard]:
    """Decode the shards of a bundle, in the order of the user's preferences.

    Args:
        verified: A whole bundle.
        manifest: Its manifest.

    Raises:
        FormatError: A shard is malformed, of another encoder or dimension, or of a preference that has one already.
    """
    held = [shards.decode(verified.files[name], name) for name in manifest.shard_names]
    for name, shard in zip(manifest.shard_names, held, strict=True):
        if shard.encoder_id != manifest.encoder_id or shard.dim != held[0].dim:
            raise FormatError(f"{name}: its vectors are of another encoder than the manifest's.")
    if len({shard.preference for shard in held}) != len(held):
        raise FormatError("manifest: two shards are of one preference.")
    return held
