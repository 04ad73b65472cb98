"""Patches: what a device lacks of a new version, and nothing else.

    apply(old, make(old, new)) == new, byte for byte

Files are told apart by their hashes, so a patch between any two versions of one user works, and a shard that only
moved to another place does not travel.
"""

from __future__ import annotations

from .container import Container
from .errors import ConfigurationError, ExpiredError, PatchMismatchError
from .ids import sha256_hex
from .trust import Claims, check_files, read_claims, verify, verify_whole


def make(old: Container, new: Container) -> Container:
    """Return what must travel from `old` to `new`. Signatures are the receiver's to check.

    Args:
        old: A whole bundle.
        new: A whole bundle of the same user, of a higher version. Its roots continue those of `old`.

    Raises:
        ConfigurationError: They are not two versions of one user's bundle, or not in this order.
        PatchMismatchError: One of them is no whole bundle.
        HashMismatchError: A file of theirs is damaged.
        FormatError: Metadata of theirs are not well-formed.
    """
    before, after = _whole(old, "old"), _whole(new, "new")
    if before.audience != after.audience:
        raise ConfigurationError("The two bundles are for different users.")
    if after.version <= before.version:
        raise ConfigurationError(
            f"The new bundle is of version {after.version}, and the old one of {before.version}.",
            hint="Give the older one first.",
        )
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
        PatchMismatchError: The patch does not fit the bundle.
        NotSignedError: A signature does not verify.
        HashMismatchError: A file is not the one that was signed.
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
        raise ExpiredError(f"The patch expired on {after.expires:%Y-%m-%d}.")
    by_hash = {sha256_hex(data): data for data in (*old.files.values(), *patch.files.values())}
    if lacking := [name for name, digest in after.hashes.items() if digest not in by_hash]:
        raise PatchMismatchError(
            f"The patch to version {after.version} does not fit version {before.version}: {len(lacking)} files are in "
            f"neither, {lacking[0][:40]!r} among them."
        )
    whole = Container(roots, patch.targets, {name: by_hash[digest] for name, digest in after.hashes.items()})
    verify_whole(whole, trust=trust, audience=audience, min_version=before.version)
    return whole


def _whole(bundle: Container, which: str) -> Claims:
    claims = read_claims(bundle)
    check_files(bundle.files, claims)
    if set(bundle.files) != set(claims.hashes):
        raise PatchMismatchError(f"The {which} file is a patch, not a whole bundle.", hint="Give two whole bundles.")
    return claims
