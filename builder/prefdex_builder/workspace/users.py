"""The versions of each user's bundle: `users/<audience>/<version>.pdx`."""

from __future__ import annotations

from dataclasses import dataclass

from prefdex_shared.manifest import check_audience

from .storage import Storage

_SUFFIX = ".pdx"


@dataclass(frozen=True, slots=True)
class UserStore:
    """Reads and writes bundles of a workspace.

    Attributes:
        storage: The folder `users`.
    """

    storage: Storage

    def latest(self, audience: str) -> tuple[int, bytes] | None:
        """Return version and bytes of the newest bundle of a user."""
        folder = self.storage.folder(check_audience(audience))
        stems = (name.removesuffix(_SUFFIX) for name in folder.names(_SUFFIX))
        # A person may have put a patch beside the versions.
        versions = [int(stem) for stem in stems if stem.isdecimal() and stem.isascii()]
        if not versions:
            return None
        return max(versions), folder.read(f"{max(versions)}{_SUFFIX}")

    def location(self, audience: str, version: int) -> str:
        """Return where a version of a user's bundle stands."""
        return self.storage.folder(check_audience(audience)).location(f"{version}{_SUFFIX}")

    def put(self, audience: str, version: int, data: bytes) -> None:
        """Store a bundle."""
        self.storage.folder(check_audience(audience)).write(f"{version}{_SUFFIX}", data)
