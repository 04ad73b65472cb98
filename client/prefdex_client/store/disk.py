"""The few file-system calls that the store makes, in one place, so that tests can cut the power at each of them.

A file that is written has reached the disk when `write` returns; its name, and the end of another, when `sync` does.
"""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """A local file system."""

    def write(self, path: Path, data: bytes) -> None:
        """Write a new file, and wait until its content is on the disk."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def rename(self, source: Path, target: Path) -> None:
        """Give a file its name, in place of another that may have it."""
        source.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink(missing_ok=True)

    def sync(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
