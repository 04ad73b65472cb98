"""Deciding whether to believe a container, by The Update Framework's rules.

The order, which is the point: root metadata, from the device's own trust anchor on; the signed targets; who they are
for and how old they are; then the hash of every file. No file's content is parsed before all of that has passed. As
no file may be in a container that the targets do not name, no byte of it can be changed unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from tuf.api.metadata import Metadata, Root, TargetFile, Targets

from . import manifest as manifests
from .container import Container
from .errors import (
    FormatError,
    HashMismatchError,
    NotSignedError,
    PatchMismatchError,
    RollbackError,
    WrongAudienceError,
)
from .ids import sha256_hex
from .manifest import Manifest
from .metadata import canonical_bytes, check_signatures, check_threshold, read_anchor, read_root, read_targets

CUSTOM_FIELD = "x-prefdex"
"""Name of the signed field in targets that holds audience, time of issue and kind of repository."""
KIND = "bundle"
MANIFEST_FILE = "manifest"
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
"""Of the time of issue, as of TUF's own times."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What targets metadata say.

    Attributes:
        audience: Opaque id of the user.
        version: Version of the bundle.
        issued: When it was signed (UTC).
        expires: When it expires (UTC).
        hashes: SHA-256 of each file of the whole bundle, by name.
        lengths: Bytes of each file, by name.
    """

    audience: str
    version: int
    issued: datetime
    expires: datetime
    hashes: Mapping[str, str]
    lengths: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Verified(Claims):
    """What has been verified; it expires with its root metadata, if these expire first.

    Attributes:
        root: Bytes of the newest root metadata.
        root_version: Its version.
        roots: Root metadata that lead from the anchor to it, one version after the other.
        key_ids: Keys that signed the targets.
        files: Content of the files that the container holds, by name.
        manifest: Decoded manifest; None for a patch that leaves it unchanged.
    """

    root: bytes
    root_version: int
    roots: tuple[bytes, ...]
    key_ids: tuple[str, ...]
    files: Mapping[str, bytes]
    manifest: Manifest | None

    @property
    def missing(self) -> list[str]:
        """Names of the files that the bundle has and this container lacks; none for a whole bundle."""
        return [name for name in self.hashes if name not in self.files]

    def is_expired(self, now: datetime | None = None) -> bool:
        """Whether the metadata have expired."""
        return (now or datetime.now(timezone.utc)) >= self.expires


def verify(container: Container, *, trust: bytes, audience: str, min_version: int = 0) -> Verified:
    """Verify a container offline.

    Args:
        container: A bundle or a patch.
        trust: The device's trust anchor: bytes of a `root.json`.
        audience: Opaque id of the user whose bundle is expected.
        min_version: Refuse a lower version.

    Raises:
        NotSignedError: Not signed by the keys that the anchor leads to.
        HashMismatchError: A file is not the one that was signed.
        WrongAudienceError: It is for somebody else.
        RollbackError: It is older than `min_version`.
        FormatError: Metadata are not well-formed or not canonical.
    """
    root, chain = _newest_root(trust, container.roots)
    metadata = read_targets(container.targets)
    check_signatures(metadata, [root.signed], "targets")
    claims = _claims(metadata.signed)
    if claims.audience != audience:
        # Whose it is stays out of the message: that is another user's business.
        raise WrongAudienceError("The bundle is signed for another user.")
    if claims.version < min_version:
        raise RollbackError(f"The bundle is of version {claims.version}, below the {min_version} asked for.")
    check_files(container.files, claims)
    return Verified(
        audience=claims.audience,
        version=claims.version,
        issued=claims.issued,
        expires=min(claims.expires, root.signed.expires),
        hashes=claims.hashes,
        lengths=claims.lengths,
        root=canonical_bytes(root),
        root_version=root.signed.version,
        roots=chain,
        key_ids=tuple(metadata.signatures),
        files=container.files,
        manifest=_manifest(container, claims),
    )


def verify_whole(
    container: Container, *, trust: bytes, audience: str, min_version: int = 0
) -> tuple[Verified, Manifest]:
    """Verify a container that must be a whole bundle.

    Raises:
        PatchMismatchError: It is a patch.
        TrustError: See `verify`.
        FormatError: See `verify`.
    """
    verified = verify(container, trust=trust, audience=audience, min_version=min_version)
    if verified.missing or verified.manifest is None:
        raise PatchMismatchError(
            f"This is a patch: {len(verified.missing)} files of version {verified.version} are not in it.",
            hint="Apply it to the bundle that the device has.",
        )
    return verified, verified.manifest


def read_claims(container: Container) -> Claims:
    """Return what a container's targets say, their signatures unseen: for a publisher's own files, never on a device.

    Raises:
        FormatError: They are not well-formed.
    """
    return _claims(read_targets(container.targets).signed)


def check_files(files: Mapping[str, bytes], claims: Claims) -> None:
    """Check that files are those that targets name.

    Raises:
        HashMismatchError: A file has another hash, or is not named at all.
    """
    for name, data in files.items():
        if name not in claims.hashes:
            raise HashMismatchError(f"File {name!r} is not named by the signed metadata.")
        if len(data) != claims.lengths[name] or sha256_hex(data) != claims.hashes[name]:
            raise HashMismatchError(f"File {name!r} differs from its signed hash.")


def _newest_root(trust: bytes, roots: Iterable[bytes]) -> tuple[Metadata[Root], tuple[bytes, ...]]:
    newest, chain = read_anchor(trust), []
    for data in roots:
        root = read_root(data)
        version = root.signed.version
        if version < newest.signed.version:
            # The device is past this one, and nothing depends on it.
            check_threshold(root, root.signed, f"root {version}")
        elif version == newest.signed.version:
            if data != canonical_bytes(newest):
                raise NotSignedError(f"root: another root of version {version} than the device trusts.")
        elif version > newest.signed.version + 1:
            raise NotSignedError(
                f"root: version {version} does not follow version {newest.signed.version}.",
                hint="Fetch the whole bundle, which holds the versions between.",
            )
        else:
            check_signatures(root, [newest.signed, root.signed], f"root {version}")
            newest = root
            chain.append(data)
    return newest, tuple(chain)


def _claims(targets: Targets) -> Claims:
    custom = targets.unrecognized_fields.get(CUSTOM_FIELD)
    if not isinstance(custom, dict) or custom.get("kind") != KIND or not isinstance(custom.get("audience"), str):
        raise WrongAudienceError("The signed metadata are not those of a bundle.")
    if MANIFEST_FILE not in targets.targets:
        raise FormatError("targets: no manifest is named.")
    return Claims(
        audience=custom["audience"],
        version=targets.version,
        issued=_time(custom.get("issued")),
        expires=targets.expires,
        hashes={name: _sha256(name, file) for name, file in targets.targets.items()},
        lengths={name: file.length for name, file in targets.targets.items()},
    )


def _time(text: object) -> datetime:
    try:
        return datetime.strptime(str(text), TIME_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        raise FormatError("targets: there is no time of issue.") from None


def _sha256(name: str, file: TargetFile) -> str:
    digest = file.hashes.get("sha256")
    if digest is None:
        raise FormatError(f"targets: {name[:40]!r} has no SHA-256.")
    return digest


def _manifest(container: Container, claims: Claims) -> Manifest | None:
    if MANIFEST_FILE not in container.files:
        return None
    manifest = manifests.decode(container.files[MANIFEST_FILE])
    if manifest.audience != claims.audience:
        raise WrongAudienceError("The manifest is for another user than the signed metadata.")
    if {MANIFEST_FILE, *manifest.shard_names} != set(claims.hashes):
        raise FormatError("The manifest and the signed metadata name different shards.")
    return manifest
