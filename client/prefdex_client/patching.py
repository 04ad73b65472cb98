"""Applying a patch file to a bundle file."""

from __future__ import annotations

from pathlib import Path

from prefdex_shared import container, files, patching
from prefdex_shared.container import MAX_CONTAINER_BYTES

from .memory import read_trust


def apply_patch(
    bundle: str | Path, patch: str | Path, output: str | Path, *, trust: str | Path | bytes, audience: str
) -> int:
    """Apply a patch to a bundle and write the new bundle, whole or not at all.

    Args:
        bundle: The `.pdx` that the device has.
        patch: The patch, or a newer whole bundle.
        output: Where to write; may be the same path as `bundle`.
        trust: The publisher's `root.json`: a path, or its bytes.
        audience: Opaque id of the user.

    Returns:
        Size of the new bundle in bytes.

    Raises:
        TrustError: One of them is not to be believed, or the patch is older than the bundle, or has expired.
        FormatError: One of them is damaged.
        ConfigurationError: The patch does not fit the bundle, or a file cannot be read or written.
    """
    old = container.decode(files.read(bundle, "bundle", MAX_CONTAINER_BYTES))
    new = container.decode(files.read(patch, "patch", MAX_CONTAINER_BYTES))
    data = container.encode(patching.apply(old, new, trust=read_trust(trust), audience=audience))
    files.replace(output, data)
    return len(data)
