"""The shards of a verified bundle, decoded together."""

from __future__ import annotations

from . import shard as shards
from .errors import FormatError
from .manifest import Manifest
from .shard import Shard
from .trust import Verified


def read_shards(verified: Verified, manifest: Manifest) -> dict[str, Shard]:
    """Decode the shards of a bundle, by name, in the order of the user's preferences.

    Args:
        verified: A bundle; shards that are not in it are left out.
        manifest: Its manifest.

    Raises:
        FormatError: A shard is malformed, of another encoder or dimension, or of a preference that has one already.
    """
    held = {name: shards.decode(verified.files[name], name) for name in manifest.shard_names if name in verified.files}
    dims = {shard.dim for shard in held.values()}
    for name, shard in held.items():
        if shard.encoder_id != manifest.encoder_id or len(dims) > 1:
            raise FormatError(f"{name}: its vectors are of another encoder than the manifest's.")
    if len({shard.preference for shard in held.values()}) != len(held):
        raise FormatError("manifest: two shards are of one preference.")
    return held
