"""Deciding whether to believe a container, by The Update Framework's rules.

The order, which is the point: root metadata, from the device's own trust anchor on; the signed targets; who they are
for and how old they are; then the hash of every file. No file's content is parsed before all of that has passed.

Stricter than TUF in three ways, so that no byte can be changed unnoticed: metadata must equal their own canonical
encoding; every signature must be by a key of the role and must verify, not just enough of them; and there are no
files that the targets do not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeVar

from securesystemslib.exceptions import UnverifiedSignatureError
from tuf.api.exceptions import UnsignedMetadataError
from tuf.api.metadata import Metadata, Root, TargetFile, Targets
from tuf.api.serialization import DeserializationError, SerializationError
from tuf.api.serialization.json import JSONSerializer

from . import manifest as manifests
from .container import MAX_METADATA_BYTES, Container
from .errors import ConfigurationError, FormatError, NotSignedError, RollbackError, WrongAudienceError
from .ids import sha256_hex
from .manifest import Manifest

CUSTOM_FIELD = "x-prefdex"
"""Name of the signed field in targets that holds audience and repository kind."""
KIND = "bundle"
MANIFEST_FILE = "manifest"

_MAX_SIGNATURES = 16
_SERIALIZER = JSONSerializer(compact=True)
_ROOT, _TARGETS = "root", "targets"

T = TypeVar("T", Root, Targets)


@dataclass(frozen=True, slots=True)
class Verified:
    """What has been verified.

    Attributes:
        root: Bytes of the newest root metadata.
        root_version: Its version.
        version: Version of the bundle.
        expires: When its signed metadata expire (UTC).
        key_ids: Keys that signed the targets.
        hashes: SHA-256 of each file of the whole bundle, by name.
        lengths: Bytes of each file, by name.
        files: Content of the files that the container holds, by name.
        manifest: Decoded manifest; None for a patch that leaves it unchanged.
    """

    root: bytes
    root_version: int
    version: int
    expires: datetime
    key_ids: tuple[str, ...]
    hashes: Mapping[str, str]
    lengths: Mapping[str, int]
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
        NotSignedError: A signature or a hash does not verify.
        WrongAudienceError: It is for somebody else.
        RollbackError: It is older than `min_version`.
        FormatError: Metadata are not well-formed or not canonical.
    """
    root_bytes, root = _newest_root(trust, container.roots)
    metadata: Metadata[Targets] = _canonical(container.targets, Targets, _TARGETS)
    _check_signatures(metadata, [root.signed], _TARGETS)
    targets = metadata.signed
    _check_audience(targets, audience)
    if targets.version < min_version:
        raise RollbackError(
            f"The bundle is of version {targets.version}, below the {min_version} asked for.",
            hint="Fetch the newest bundle.",
        )
    if targets.delegations is not None:
        raise FormatError("targets: delegations are not used in a bundle.")
    for name, data in container.files.items():
        _check_file(name, data, targets.targets)
    return Verified(
        root=root_bytes,
        root_version=root.signed.version,
        version=targets.version,
        expires=min(targets.expires, root.signed.expires),
        key_ids=tuple(metadata.signatures),
        hashes={name: _sha256(name, file) for name, file in targets.targets.items()},
        lengths={name: file.length for name, file in targets.targets.items()},
        files=container.files,
        manifest=_manifest(container, targets, audience),
    )


def verify_whole(
    container: Container, *, trust: bytes, audience: str, min_version: int = 0
) -> tuple[Verified, Manifest]:
    """Verify a container that must be a whole bundle.

    Raises:
        ConfigurationError: It is a patch.
        TrustError: See `verify`.
        FormatError: See `verify`.
    """
    verified = verify(container, trust=trust, audience=audience, min_version=min_version)
    if verified.missing or verified.manifest is None:
        raise ConfigurationError(
            f"This is a patch: {len(verified.missing)} files of version {verified.version} are not in it.",
            hint="Apply it to the bundle that the device has.",
        )
    return verified, verified.manifest


def canonical_bytes(metadata: Metadata[Root] | Metadata[Targets]) -> bytes:
    """Return the one encoding of metadata that is accepted: JSON without blanks, keys sorted."""
    return metadata.to_bytes(_SERIALIZER)


def read_root(data: bytes) -> Metadata[Root]:
    """Read a trust anchor and check that it is signed by its own keys. Its layout is free, since the device chose it.

    Raises:
        NotSignedError: It is not.
        FormatError: It is no root metadata.
    """
    root: Metadata[Root] = _parsed(data, Root, _ROOT)
    # After a rotation it carries the signatures of keys before it, too.
    _check_threshold(root, root.signed, _ROOT)
    return root


def _newest_root(trust: bytes, roots: Iterable[bytes]) -> tuple[bytes, Metadata[Root]]:
    newest = read_root(trust)
    for data in roots:
        root: Metadata[Root] = _canonical(data, Root, _ROOT)
        version = root.signed.version
        if version < newest.signed.version:
            # The device is past this one, and nothing depends on it.
            _check_threshold(root, root.signed, f"root {version}")
        elif version == newest.signed.version:
            if data != canonical_bytes(newest):
                raise NotSignedError(f"root: another root of version {version} than the device trusts.")
        elif version > newest.signed.version + 1:
            raise NotSignedError(
                f"root: version {version} does not follow version {newest.signed.version}.",
                hint="Fetch the whole bundle, which holds the versions between.",
            )
        else:
            _check_signatures(root, [newest.signed, root.signed], f"root {version}")
            newest = root
    return canonical_bytes(newest), newest


def _parsed(data: bytes, kind: type[T], where: str) -> Metadata[T]:
    if len(data) > MAX_METADATA_BYTES:
        raise FormatError(f"{where}: {len(data)} bytes are more than the {MAX_METADATA_BYTES} allowed.")
    try:
        metadata: Metadata[T] = Metadata.from_bytes(data)
    except (DeserializationError, RecursionError):
        raise FormatError(f"{where}: not well-formed TUF metadata.") from None
    if not isinstance(metadata.signed, kind):
        raise FormatError(f"{where}: metadata of another role.")
    if len(metadata.signatures) > _MAX_SIGNATURES:
        raise FormatError(f"{where}: more than {_MAX_SIGNATURES} signatures.")
    return metadata


def _canonical(data: bytes, kind: type[T], where: str) -> Metadata[T]:
    metadata = _parsed(data, kind, where)
    try:
        same = metadata.to_bytes(_SERIALIZER) == data
    except SerializationError:
        same = False
    # Hexadecimal digits verify in either case, so their case must be fixed too.
    if not same or any(each.signature != each.signature.lower() for each in metadata.signatures.values()):
        raise FormatError(f"{where}: metadata not in canonical form.")
    return metadata


def _check_signatures(metadata: Metadata[T], delegators: Sequence[Root], where: str) -> None:
    """Check that each delegator's threshold is met, and that there is no signature beside those that verify."""
    for delegator in delegators:
        _check_threshold(metadata, delegator, where)
    role = metadata.signed.type
    keys = {key_id: each.get_key(key_id) for each in delegators for key_id in each.get_delegated_role(role).keyids}
    for key_id, signature in metadata.signatures.items():
        if key_id not in keys:
            raise NotSignedError(f"{where}: signed by a key that has no such role.")
        try:
            keys[key_id].verify_signature(signature, metadata.signed_bytes)
        except UnverifiedSignatureError:
            raise NotSignedError(f"{where}: a signature does not verify.") from None


def _check_threshold(metadata: Metadata[T], delegator: Root, where: str) -> None:
    try:
        delegator.verify_delegate(metadata.signed.type, metadata.signed_bytes, metadata.signatures)
    except (UnsignedMetadataError, ValueError) as error:
        raise NotSignedError(
            f"{where}: not signed by enough keys that the device trusts.",
            hint="Check that the bundle comes from the publisher of this root.json.",
        ) from error


def _check_audience(targets: Targets, audience: str) -> None:
    custom = targets.unrecognized_fields.get(CUSTOM_FIELD)
    if not isinstance(custom, dict) or custom.get("kind") != KIND:
        raise WrongAudienceError("The signed metadata are not those of a bundle.")
    if custom.get("audience") != audience:
        # Whose it is stays out of the message: that is another user's business.
        raise WrongAudienceError("The bundle is signed for another user.", hint="Check the audience.")


def _check_file(name: str, data: bytes, targets: Mapping[str, TargetFile]) -> None:
    if name not in targets:
        raise NotSignedError(f"File {name!r} is not named by the signed metadata.")
    if len(data) != targets[name].length or sha256_hex(data) != _sha256(name, targets[name]):
        raise NotSignedError(
            f"File {name!r} differs from its signed hash.",
            hint="It was damaged or tampered with: fetch the bundle again.",
        )


def _sha256(name: str, file: TargetFile) -> str:
    digest = file.hashes.get("sha256")
    if digest is None:
        raise FormatError(f"targets: {name!r} has no SHA-256.")
    return digest


def _manifest(container: Container, targets: Targets, audience: str) -> Manifest | None:
    if MANIFEST_FILE not in targets.targets:
        raise FormatError("targets: no manifest is named.")
    if MANIFEST_FILE not in container.files:
        return None
    manifest = manifests.decode(container.files[MANIFEST_FILE])
    if manifest.audience != audience:
        raise WrongAudienceError("The manifest is for another user than the signed metadata.")
    if {MANIFEST_FILE, *manifest.shard_names} != set(targets.targets):
        raise FormatError("The manifest and the signed metadata name different shards.")
    return manifest
