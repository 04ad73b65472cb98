"""Reading and replacing single files that a person named, with errors that a person understands."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import ConfigurationError, FormatError


def read(path: str | Path, what: str, max_bytes: int) -> bytes:
    """Read a file of bounded size.

    Raises:
        ConfigurationError: It cannot be read.
        FormatError: It is larger than allowed.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise ConfigurationError(f"The {what} {path} cannot be read: {error.strerror or error}.") from error
    if len(data) > max_bytes:
        raise FormatError(f"The {what} {path} is larger than the {max_bytes} bytes allowed.")
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


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
