"""Making the keys of a publisher.

root.pem       signs root.json, which says which keys may sign what: keep it offline
targets.pem    signs bundles: on the machine that builds
online.pem     signs snapshots and timestamps when bundles are published
root.json      public; the one trust anchor of every device
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, Root

from prefdex_shared.errors import ConfigurationError
from prefdex_shared.files import new_folder
from prefdex_shared.metadata import canonical_bytes

ROOT_FILE = "root.json"
PRIVATE_FILES = {"root": "root.pem", "targets": "targets.pem", "online": "online.pem"}
ROOT_VALID_DAYS = 5 * 365

_ROLES = {"root": "root", "targets": "targets", "snapshot": "online", "timestamp": "online"}
_OWNER_ONLY = 0o600
_OWNER_ONLY_FOLDER = 0o700


@dataclass(frozen=True, slots=True)
class KeySet:
    """A publisher's keys folder.

    Attributes:
        folder: The folder.
    """

    folder: Path

    @property
    def root(self) -> Path:
        """The public trust anchor."""
        return self.folder / ROOT_FILE

    @property
    def offline(self) -> Path:
        """The private key to be kept offline."""
        return self.folder / PRIVATE_FILES["root"]

    @property
    def targets_uri(self) -> str:
        """URI of the key that signs bundles."""
        return f"file2:{(self.folder / PRIVATE_FILES['targets']).resolve()}"


def init_keys(folder: Path, *, valid_days: int = ROOT_VALID_DAYS) -> KeySet:
    """Make Ed25519 keys and the first root metadata; the folder appears whole or not at all.

    Args:
        folder: A new folder.
        valid_days: Days until the root metadata expire.

    Raises:
        ConfigurationError: The folder is taken, or cannot be written.
    """
    if folder.exists():
        raise ConfigurationError(f"{folder} exists already; keys are never overwritten.", hint="Choose another folder.")
    if valid_days < 1:
        raise ConfigurationError(f"Root metadata must be valid for at least 1 day, not {valid_days}.")
    try:
        with new_folder(folder, mode=_OWNER_ONLY_FOLDER) as scratch:
            _write_keys(scratch, valid_days)
    except OSError as error:
        raise ConfigurationError(f"Keys cannot be written to {folder}: {error.strerror or error}.") from error
    return KeySet(folder)


def _write_keys(folder: Path, valid_days: int) -> None:
    signers = {name: CryptoSigner.generate_ed25519() for name in PRIVATE_FILES}
    for name, signer in signers.items():
        _write_private(folder / PRIVATE_FILES[name], signer.private_bytes)
    root = new_root(signers, expires=_now() + timedelta(days=valid_days))
    (folder / ROOT_FILE).write_bytes(root)


def new_root(signers: dict[str, CryptoSigner], *, expires: datetime) -> bytes:
    """Return the first root metadata for a set of signers named as in `PRIVATE_FILES`."""
    root = Root(version=1, expires=expires, consistent_snapshot=True)
    for role, name in _ROLES.items():
        root.add_key(signers[name].public_key, role)
    metadata = Metadata(root)
    metadata.sign(signers["root"])
    return canonical_bytes(metadata)


def _write_private(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)
