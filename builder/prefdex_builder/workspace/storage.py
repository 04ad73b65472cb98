"""Files of a workspace. Every file appears whole or not at all, and is never changed once it is there."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from prefdex_shared.errors import FormatError

from .. import s3
from .bucket import BucketFiles
from .lease import Lease
from .local import LocalFiles


class Files(Protocol):
    """Where files stand: in a folder, or in an object store."""

    def location(self, path: str) -> str:
        """Return where a file stands, for people."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file is there."""
        ...

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, which is empty or ends in a slash."""
        ...

    def read(self, path: str) -> bytes:
        """Read a file.

        Raises:
            OSError: It is not there.
        """
        ...

    def write(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        ...

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        ...

    def locked(self) -> AbstractContextManager[Lease]:
        """Hold everything against other builds."""
        ...


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder of a workspace: cheap to make, cheap to send to a worker.

    Attributes:
        files: Where it stands.
        path: Within that; empty, or ends in a slash.
    """

    files: Files
    path: str = ""

    @classmethod
    def at(cls, location: str | Path) -> Storage:
        """Return the storage at a folder, or at `s3://bucket/prefix`."""
        if isinstance(location, str) and location.startswith(s3.SCHEME):
            bucket, prefix = s3.split(location)
            return cls(BucketFiles(bucket, f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""))
        return cls(LocalFiles(Path(location).resolve()))

    def folder(self, name: str) -> Storage:
        """Return a folder within this one."""
        return Storage(self.files, f"{self.path}{name}/")

    def location(self, name: str = "") -> str:
        """Return where a file stands, for people."""
        return self.files.location(self.path + name)

    def exists(self, name: str) -> bool:
        """Whether a file is there."""
        return self.files.exists(self.path + name)

    def names(self, suffix: str) -> list[str]:
        """Return the names of all files with an ending, sorted; unfinished ones begin with a dot and are left out."""
        return sorted(name for name in self.files.names(self.path) if name.endswith(suffix) and name[0] != ".")

    def read(self, name: str) -> bytes:
        """Read a file."""
        try:
            return self.files.read(self.path + name)
        except OSError as error:
            raise self._unreadable(name, error.strerror or str(error)) from error

    def write(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all."""
        self.files.write(self.path + name, data)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self.files.remove(self.path + name)

    def read_json(self, name: str) -> dict[str, object]:
        """Read a JSON object."""
        try:
            value = json.loads(self.read(name))
        except ValueError as error:
            raise self._unreadable(name, "not JSON") from error
        if not isinstance(value, dict):
            raise self._unreadable(name, "not a JSON object")
        return value

    def write_json(self, name: str, value: object) -> None:
        """Write a JSON object."""
        self.write(name, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())

    def read_table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """Read a Parquet file."""
        try:
            return pq.read_table(pa.BufferReader(self.read(name)), columns=columns)
        except pa.ArrowException as error:
            raise self._unreadable(name, "not Parquet") from error

    def write_table(self, name: str, table: pa.Table) -> None:
        """Write a Parquet file."""
        buffer = io.BytesIO()
        pq.write_table(table, buffer, compression="zstd")
        self.write(name, buffer.getvalue())

    def _unreadable(self, name: str, why: str) -> FormatError:
        return FormatError(
            f"{self.location(name)} of the workspace cannot be read: {why}.", hint="Remove the file, and run again."
        )


def rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Iterate over a table's rows as dicts."""
    for batch in table.to_batches():
        yield from batch.to_pylist()
