"""Reading the store's folder: every version is verified as if it had just arrived, and no lock is taken."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path

from prefdex_shared import files, trust
from prefdex_shared.bundle import read_shards
from prefdex_shared.container import MAX_METADATA_BYTES, Container
from prefdex_shared.errors import ConfigurationError, FormatError, WrongAudienceError
from prefdex_shared.ids import sha256_hex
from prefdex_shared.shard import MAX_SHARD_BYTES, Shard
from prefdex_shared.trust import Verified, read_claims

from ..source import Bundle
from . import planning, state
from .planning import Device
from .state import MAX_STATE_BYTES, State

STATE_FILE, FILES, METADATA = "state", "files", "metadata"

_N_READS = 20


class StoreReader:
    """Reads a store's folder.

    Args:
        folder: The folder.
        anchor: The device's trust anchor.
        audience: Opaque id of the user whose store it must be.
    """

    def __init__(self, folder: Path, anchor: bytes, audience: str) -> None:
        self.folder, self._anchor, self._audience = folder, anchor, audience

    def state(self) -> State:
        """Read the state.

        Raises:
            WrongAudienceError: The store is another user's.
            FormatError: It is damaged.
            ConfigurationError: It cannot be read.
        """
        now = state.decode(files.read(self.folder / STATE_FILE, "store's state", MAX_STATE_BYTES))
        if now.audience != self._audience:
            raise WrongAudienceError("The store is another user's.")
        return now

    def token(self) -> Hashable:
        """Return what changes whenever the state does."""
        try:
            status = (self.folder / STATE_FILE).stat()
        except OSError as error:
            raise ConfigurationError(f"The store {self.folder} cannot be read: {error.strerror or error}.") from error
        return status.st_ino, status.st_mtime_ns, status.st_size

    def current(self) -> tuple[Bundle, dict[str, Shard]] | None:
        """Verify and decode the current version; None where there is none yet.

        Raises:
            TrustError: What is on the disk is not to be believed.
            FormatError: It is damaged.
        """
        for _ in range(_N_READS):
            now = self.state()
            if not now.versions:
                return None
            try:
                version = self.version(now, now.versions[0])
                return _bundle(version), shards_of(version)
            except FormatError:
                # A writer may have removed what this state names; then there is another one.
                if self.state() == now:
                    raise
        raise ConfigurationError("The store changes faster than it can be read.", hint="Try again.")

    def version(self, now: State, targets: str) -> Verified:
        """Read a version, by the hash of its targets metadata, and verify it.

        Raises:
            TrustError: It is not to be believed.
            FormatError: It is damaged, or a file is missing that was not forgotten.
        """
        signed = self.metadata(targets)
        held = {name: data for name, digest in self.named(targets).items() if (data := self._file(digest)) is not None}
        whole = Container(self._roots(now), signed, held)
        verified = trust.verify(whole, trust=self._anchor, audience=self._audience)
        planning.check_whole(verified, now)
        return verified

    def device(self, now: State) -> Device:
        """Return what the device has, for a version to be applied to it."""
        if not now.versions:
            return Device(self._anchor, self._roots(now))
        files = tuple(self.version(now, now.versions[0]).files.values())
        hashes = tuple(digest for targets in now.versions for digest in self.named(targets).values())
        return Device(self._anchor, self._roots(now), files, hashes)

    def named(self, targets: str) -> Mapping[str, str]:
        """Return the SHA-256 of a version's files by name, by the hash of its targets metadata.

        Raises:
            FormatError: The metadata are missing.
        """
        return read_claims(Container((), self.metadata(targets), {})).hashes

    def metadata(self, digest: str) -> bytes:
        """Read metadata by their hash.

        Raises:
            FormatError: They are missing.
        """
        path = self.folder / METADATA / digest
        if not path.exists():
            raise FormatError("Metadata of the store are missing.", hint="Apply a whole bundle to a new store.")
        return files.read(path, "store's metadata", MAX_METADATA_BYTES)

    def local(self, digest: str) -> bytes:
        """Read a file that was made here, by its hash.

        Raises:
            FormatError: It is missing or damaged.
        """
        data = self._file(digest)
        if data is None or sha256_hex(data) != digest:
            raise FormatError("A file that was made on this device is missing or damaged.")
        return data

    def n_bytes(self) -> int:
        """Return the size of all files of the store."""
        folders = (self.folder, self.folder / FILES, self.folder / METADATA)
        return sum(path.stat().st_size for folder in folders for path in folder.iterdir() if path.is_file())

    def _roots(self, now: State) -> tuple[bytes, ...]:
        return tuple(map(self.metadata, now.roots))

    def _file(self, digest: str) -> bytes | None:
        path = self.folder / FILES / digest
        return files.read(path, "store's file", MAX_SHARD_BYTES) if path.exists() else None


def shards_of(version: Verified) -> dict[str, Shard]:
    """Decode the shards of a version, by name.

    Raises:
        FormatError: One is malformed, or there is no manifest.
    """
    return read_shards(version, _bundle(version).manifest)


def _bundle(version: Verified) -> Bundle:
    if version.manifest is None:
        raise FormatError(f"Version {version.version} has no manifest.")
    return Bundle(version, version.manifest, sum(map(len, version.files.values())))
