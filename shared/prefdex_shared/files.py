"""Files and folders that a person named: read within bounds, and written whole or not at all."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import ConfigurationError, TooLargeError


def read(path: str | Path, what: str, max_bytes: int) -> bytes:
    """Read a file of bounded size.

    Raises:
        ConfigurationError: It cannot be read.
        TooLargeError: It is larger than allowed.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigurationError(f"The {what} {path} cannot be read: {error.strerror or error}.") from error
    if len(data) > max_bytes:
        raise TooLargeError(f"The {what} {path} is larger than the {max_bytes} bytes allowed.")
    return data


def replace(path: str | Path, data: bytes) -> None:
    """Write a file so that, whenever the power fails, it is the old or the new one, whole.

    Raises:
        ConfigurationError: It cannot be written; the old one is untouched.
    """
    path = Path(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}.") from error


@contextmanager
def new_folder(destination: Path, *, mode: int = 0o755) -> Iterator[Path]:
    """Make a folder that appears whole or not at all.

    Args:
        destination: The folder; must not exist, or be empty.
        mode: Its permissions.

    Yields:
        A folder beside it, which takes its place at the end. What a killed predecessor left there is removed.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{destination.name}.unfinished."
    for left in destination.parent.glob(f"{glob.escape(prefix)}*"):
        shutil.rmtree(left, ignore_errors=True)
    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=destination.parent))
    try:
        scratch.chmod(mode)
        yield scratch
        scratch.replace(destination)
        _sync_folder(destination.parent)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
