"""Files of a workspace. Every file appears whole or not at all, and is never changed once it is there."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from prefdex_shared.errors import ConfigurationError, FormatError


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder of a workspace.

    Attributes:
        root: The folder; made when the first file is written.
    """

    root: Path

    def folder(self, name: str) -> Storage:
        """Return a folder within this one."""
        return Storage(self.root / name)

    def exists(self, name: str) -> bool:
        """Whether a file is there."""
        return (self.root / name).is_file()

    def names(self, suffix: str) -> list[str]:
        """Return the names of all files with an ending, sorted; unfinished ones begin with a dot and are left out."""
        if not self.root.is_dir():
            return []
        return sorted(path.name for path in self.root.iterdir() if path.suffix == suffix and path.name[0] != ".")

    def read(self, name: str) -> bytes:
        """Read a file."""
        try:
            return (self.root / name).read_bytes()
        except OSError as error:
            raise _unreadable(self.root / name, error.strerror or str(error)) from error

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        with self._replacing(name) as path:
            path.write_bytes(data)

    def read_json(self, name: str) -> dict[str, object]:
        """Read a JSON object."""
        try:
            value = json.loads(self.read(name))
        except ValueError as error:
            raise _unreadable(self.root / name, "not JSON") from error
        if not isinstance(value, dict):
            raise _unreadable(self.root / name, "not a JSON object")
        return value

    def write_json(self, name: str, value: object) -> None:
        """Write a JSON object."""
        self.write(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())

    def read_table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """Read a Parquet file."""
        try:
            return pq.read_table(self.root / name, columns=columns)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(self.root / name, "not Parquet") from error

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a Parquet file."""
        with self._replacing(name) as path:
            pq.write_table(table, path, compression="zstd")

    def _replacing(self, name: str) -> _Replacing:
        return _Replacing(self.root / name)


class _Replacing:
    """A temporary path that takes the place of the real one at the end, if all went well."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        except OSError as error:
            raise ConfigurationError(f"{self._path} cannot be written: {error.strerror or error}.") from error
        os.close(descriptor)
        self._temporary = Path(name)
        return self._temporary

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is None:
            with self._temporary.open("rb") as file:
                os.fsync(file.fileno())
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ConfigurationError(f"{self._path} cannot be written: {error.strerror or error}.") from error


def _unreadable(path: Path, why: str) -> FormatError:
    return FormatError(f"{path} of the workspace cannot be read: {why}.", hint="Remove the file, and run again.")


def rows(table: pa.Table) -> Iterator[dict[str, object]]:
    """Iterate over a table's rows as dicts."""
    for batch in table.to_batches():
        yield from batch.to_pylist()
