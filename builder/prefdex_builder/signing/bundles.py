"""Assembling and signing a user's bundle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import cached_property
from pathlib import Path

from securesystemslib.exceptions import Error as SecuresystemslibError
from securesystemslib.exceptions import KeyMismatchError
from securesystemslib.signer import Key, Signature, Signer
from tuf.api.metadata import Metadata, TargetFile, Targets

from prefdex_shared import container, trust
from prefdex_shared import manifest as manifests
from prefdex_shared.container import MAX_CONTAINER_BYTES, Container, frame_bytes
from prefdex_shared.errors import ConfigurationError, TrustError
from prefdex_shared.manifest import Manifest
from prefdex_shared.metadata import canonical_bytes, read_anchor
from prefdex_shared.trust import CUSTOM_FIELD, KIND, MANIFEST_FILE, TIME_FORMAT

DEFAULT_VALID_DAYS = 365

_ANY_TIME = datetime(2000, 1, 1, tzinfo=timezone.utc)
_LONGEST_BYTES = {"ecdsa-sha2-nistp256": 72, "ecdsa-sha2-nistp384": 104}
"""Signatures without a fixed length: two numbers in DER (SEC 1, C.5). Those of other schemes are all equally long."""


class BundleSigner:
    """Signs bundles with the targets key of a root.

    Args:
        root: Bytes of the publisher's `root.json`: the first one, which devices are given.
        key_uri: Where the private targets key is: `file2:/path/key.pem`, or a KMS that securesystemslib knows.
        newer_roots: Root metadata after the first, by ascending version.

    Raises:
        ConfigurationError: The key cannot be loaded, or has no such role.
    """

    def __init__(self, root: bytes, key_uri: str, newer_roots: Sequence[bytes] = ()) -> None:
        self.root = root
        self._newer_roots = tuple(newer_roots)
        newest = read_anchor(self._newer_roots[-1] if self._newer_roots else root).signed
        self._signer = _signer(key_uri, [newest.get_key(key_id) for key_id in newest.roles[Targets.type].keyids])

    @classmethod
    def from_folder(cls, folder: Path, key_uri: str | None = None) -> BundleSigner:
        """Use the keys that `prefdex keys init` wrote.

        Args:
            folder: The keys folder.
            key_uri: Overrides where the targets key is.
        """
        from .keys import KeySet

        keys = KeySet(folder)
        try:
            root = keys.root.read_bytes()
        except OSError as error:
            raise ConfigurationError(
                f"{keys.root} cannot be read: {error.strerror or error}.", hint=f"Make keys: prefdex keys init {folder}"
            ) from error
        return cls(root, key_uri or keys.targets_uri)

    def sign(
        self, manifest: Manifest, shards: Sequence[bytes], *, version: int, valid_days: int = DEFAULT_VALID_DAYS
    ) -> bytes:
        """Return a whole bundle as the bytes of a `.pdx`.

        Args:
            manifest: Its `n_shards` is the number of shards.
            shards: In the order of the user's preferences.
            version: Of this bundle; higher than that of all earlier ones of the user.
            valid_days: Days until the metadata expire.
        """
        issued = datetime.now(timezone.utc).replace(microsecond=0)
        times = issued, issued + timedelta(days=valid_days)
        return self.sign_at(manifest, shards, version=version, times=times)

    def sign_at(
        self, manifest: Manifest, shards: Sequence[bytes], *, version: int, times: tuple[datetime, datetime]
    ) -> bytes:
        """Return a whole bundle with given times of issue and of expiry (UTC); equal arguments give equal bytes."""
        files = bundle_files(manifest, shards)
        metadata = _metadata(manifest, {name: _target(name, data) for name, data in files.items()}, version, times)
        metadata.sign(self._signer)
        data = container.encode(Container(self._newer_roots, canonical_bytes(metadata), files))
        if len(data) > MAX_CONTAINER_BYTES:
            raise ConfigurationError(
                f"{manifest.audience}: the bundle has {len(data):,} bytes; readers take up to {MAX_CONTAINER_BYTES:,}.",
                hint="Lower max_candidates, or raise tau.",
            )
        return data

    def size(self, manifest: Manifest, shard_bytes: Sequence[int], *, version: int) -> int:
        """Return the size of what `sign` gives for shards of these sizes, without signing.

        Exact for Ed25519 and RSA, whose signatures all have one length; for ECDSA at most a few bytes above.
        """
        lengths = {MANIFEST_FILE: len(manifests.encode(manifest))} | dict(
            zip(manifest.shard_names, shard_bytes, strict=True)
        )
        named = {name: TargetFile(length, {"sha256": "0" * 64}, name) for name, length in lengths.items()}
        metadata = _metadata(manifest, named, version, (_ANY_TIME, _ANY_TIME))
        key_id = self._signer.public_key.keyid
        metadata.signatures[key_id] = Signature(key_id, "0" * self._signature_digits)
        hollow = Container(self._newer_roots, canonical_bytes(metadata), dict.fromkeys(lengths, b""))
        filled = sum(length + frame_bytes(length) - frame_bytes(0) for length in lengths.values())
        return len(container.encode(hollow)) + filled

    @cached_property
    def _signature_digits(self) -> int:
        """Hex digits of a signature, at most."""
        longest = _LONGEST_BYTES.get(self._signer.public_key.scheme)
        return 2 * longest if longest else len(self._signer.sign(b"").signature)

    def is_current(self, data: bytes, manifest: Manifest, shards: Sequence[bytes]) -> bool:
        """Whether a bundle already holds exactly this, signed by this key, and has not expired."""
        held = container.decode(data)
        try:
            verified = trust.verify(held, trust=self.root, audience=manifest.audience)
        except TrustError:
            return False
        key_ids = (self._signer.public_key.keyid,)
        same = held.roots == self._newer_roots and dict(held.files) == bundle_files(manifest, shards)
        return same and verified.key_ids == key_ids and not verified.is_expired()


def bundle_files(manifest: Manifest, shards: Sequence[bytes]) -> Mapping[str, bytes]:
    """Return the files of a bundle by name."""
    named = dict(zip(manifest.shard_names, shards, strict=True))
    return {MANIFEST_FILE: manifests.encode(manifest)} | named


def _metadata(
    manifest: Manifest, targets: dict[str, TargetFile], version: int, times: tuple[datetime, datetime]
) -> Metadata[Targets]:
    issued, expires = times
    custom = {CUSTOM_FIELD: {"audience": manifest.audience, "issued": issued.strftime(TIME_FORMAT), "kind": KIND}}
    return Metadata(Targets(version=version, expires=expires, targets=targets, unrecognized_fields=custom))


def _target(name: str, data: bytes) -> TargetFile:
    return TargetFile.from_data(name, data, ["sha256"])


def _signer(uri: str, keys: Sequence[Key]) -> Signer:
    for key in keys:
        try:
            return Signer.from_priv_key_uri(uri, key)
        except KeyMismatchError:
            continue
        except (OSError, ValueError, SecuresystemslibError) as error:
            scheme = uri.partition(":")[0]
            raise ConfigurationError(
                f"The signing key ({scheme}:) cannot be loaded: {type(error).__name__}.",
                hint="Check the path or the address of the key.",
            ) from error
    raise ConfigurationError(
        "The signing key is not the targets key of this root.json.",
        hint="Use the keys folder that root.json belongs to.",
    )
