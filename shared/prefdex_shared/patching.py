"""Patches: what a device lacks of a new version, and nothing else.

    apply(old, make(old, new)) == new, byte for byte

Files are told apart by their hashes, so a patch between any two versions of one user works, and a shard that only
moved to another place does not travel.
"""

from __future__ import annotations

from .container import Container
from .errors import ConfigurationError, ExpiredError
from .ids import sha256_hex
from .trust import verify, verify_whole


def make(old: Container, new: Container) -> Container:
    """Return what must travel from `old` to `new`.

    Args:
        old: A whole bundle.
        new: A whole bundle of the same user. Its roots continue those of `old`.

    Raises:
        ConfigurationError: The roots of `new` do not continue those of `old`.
    """
    if new.roots[: len(old.roots)] != old.roots:
        raise ConfigurationError(
            "The new bundle's root metadata do not continue the old one's.",
            hint="Build both from the same keys folder.",
        )
    held = set(old.files.values())
    changed = {name: data for name, data in new.files.items() if data not in held}
    return Container(new.roots[len(old.roots) :], new.targets, changed)


def apply(old: Container, patch: Container, *, trust: bytes, audience: str) -> Container:
    """Return the bundle that the patch leads to; it has been verified as a whole.

    Args:
        old: The whole bundle that the device has.
        patch: What must be added. A whole bundle works as well.
        trust: The device's trust anchor: bytes of a `root.json`.
        audience: Opaque id of the user.

    Raises:
        ConfigurationError: The patch does not fit the bundle.
        NotSignedError: A signature or a hash does not verify.
        WrongAudienceError: One of them is for somebody else.
        RollbackError: The patch is older than the bundle.
        ExpiredError: The patch is past its expiry.
        FormatError: One of them is not well-formed.
    """
    before, _ = verify_whole(old, trust=trust, audience=audience)
    roots = old.roots + tuple(root for root in patch.roots if root not in old.roots)
    new = Container(roots, patch.targets, patch.files)
    after = verify(new, trust=trust, audience=audience, min_version=before.version)
    if after.is_expired():
        raise ExpiredError(
            f"The patch expired on {after.expires:%Y-%m-%d}.", hint="Fetch a newer one, or check the device's clock."
        )
    by_hash = {sha256_hex(data): data for data in (*old.files.values(), *patch.files.values())}
    if lacking := [name for name, digest in after.hashes.items() if digest not in by_hash]:
        raise ConfigurationError(
            f"The patch to version {after.version} does not fit version {before.version}: {len(lacking)} files are in "
            f"neither, {lacking[0]!r} among them.",
            hint="Fetch the whole bundle.",
        )
    whole = Container(roots, patch.targets, {name: by_hash[digest] for name, digest in after.hashes.items()})
    verify_whole(whole, trust=trust, audience=audience, min_version=before.version)
    return whole
