"""A workspace in a folder."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prefdex_shared.errors import ConfigurationError

from .lease import LOCK_FILE, Holder, Lease, busy


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files of a folder.

    Attributes:
        root: The folder; made when the first file is written. On a cluster every node must see it under the same path.
    """

    root: Path

    def location(self, path: str) -> str:
        """Return where a file stands, for people."""
        return str(self.root / path)

    def exists(self, path: str) -> bool:
        """Whether a file is there."""
        return (self.root / path).is_file()

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder; unfinished ones begin with a dot."""
        place = self.root / folder
        return [each.name for each in os.scandir(place) if each.is_file()] if place.is_dir() else []

    def read(self, path: str) -> bytes:
        """Read a file.

        Raises:
            OSError: It cannot be read.
        """
        return (self.root / path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all.

        Raises:
            ConfigurationError: It cannot be written.
        """
        try:
            _replace(self.root / path, data)
        except OSError as error:
            raise ConfigurationError(f"{self.root / path} cannot be written: {error.strerror or error}.") from error

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        (self.root / path).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[Lease]:
        """Hold the workspace against other builds, until the end or the death of this process.

        Raises:
            ConfigurationError: Another one holds it.
        """
        path = self.root / LOCK_FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}.") from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise busy(str(self.root), Holder.from_json(os.read(descriptor, 1 << 16))) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(Holder.now().to_dict()).encode(), 0)
            yield Lease()
        finally:
            os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
