"""Finding the files of a corpus: a file, a folder, a glob, or an `s3://` prefix."""

from __future__ import annotations

import glob
import io
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from prefdex_shared.errors import CorpusError

from .. import s3

SUFFIXES = (".jsonl", ".ndjson", ".parquet", ".txt", ".md")
"""Kinds of files that are read, by their ending."""


@dataclass(frozen=True, slots=True, order=True)
class SourceFile:
    """One file of a corpus.

    Attributes:
        name: Path relative to the source that it was found under; the id of a plain text file.
        location: Path, or `s3://bucket/key`.
    """

    name: str
    location: str

    @property
    def suffix(self) -> str:
        """Ending of the name, in lower case."""
        return Path(self.name).suffix.lower()

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open for reading, as bytes."""
        if self.location.startswith(s3.SCHEME):
            # Parquet seeks, and a response cannot; files of a corpus are of moderate size.
            yield io.BytesIO(_download(self.location))
        else:
            with Path(self.location).open("rb") as file:
                yield file


def find(sources: Sequence[str], exclude: Path | None) -> tuple[list[SourceFile], list[str]]:
    """Find the files of a corpus.

    Args:
        sources: Files, folders, globs or `s3://` prefixes.
        exclude: A folder whose content is never taken for a corpus: the workspace.

    Returns:
        The files by name, and the names of those that are of no kind that is read.

    Raises:
        CorpusError: A source does not exist, or nothing is found that can be read.
    """
    files: set[SourceFile] = set()
    skipped: set[str] = set()
    for source in sources:
        found = list(_find_s3(source) if source.startswith(s3.SCHEME) else _find_local(source, exclude))
        if not found:
            raise CorpusError(
                f"There is no file at {source}.", hint="Give a file, a folder, a glob in quotes, or s3://bucket/prefix."
            )
        files |= {file for file in found if file.suffix in SUFFIXES}
        skipped |= {file.name for file in found if file.suffix not in SUFFIXES}
    if not files:
        raise CorpusError(
            f"None of the {len(skipped)} files found is of a kind that is read.",
            hint=f"Files must end in {', '.join(SUFFIXES)}.",
        )
    return sorted(files), sorted(skipped)


def _find_local(source: str, exclude: Path | None) -> Iterator[SourceFile]:
    path = Path(source).expanduser()
    if path.is_file():
        yield SourceFile(path.name, str(path.resolve()))
        return
    root = path if path.is_dir() else _fixed_part(path)
    # pathlib's own glob takes no absolute pattern.
    paths = path.rglob("*") if path.is_dir() else map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207
    for each in sorted(paths):
        name, resolved = each.relative_to(root), each.resolve()
        is_hidden = any(part.startswith(".") for part in name.parts)
        if resolved.is_file() and not is_hidden and not (exclude and resolved.is_relative_to(exclude)):
            yield SourceFile(str(name), str(resolved))


def _fixed_part(pattern: Path) -> Path:
    """Return the folder of a pattern up to its first wildcard."""
    fixed = itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts)
    return Path(*fixed)


def _find_s3(source: str) -> Iterator[SourceFile]:
    bucket, prefix = s3.split(source)
    try:
        found = s3.keys(bucket, prefix)
    except s3.errors() as error:
        raise CorpusError(f"{source} cannot be listed: {error}", hint="Check the bucket and credentials.") from error
    folder = prefix.rpartition("/")[0]
    for key in found:
        if not key.endswith("/"):
            yield SourceFile(key.removeprefix(folder).lstrip("/"), f"{s3.SCHEME}{bucket}/{key}")


def _download(address: str) -> bytes:
    bucket, key = s3.split(address)
    try:
        data: bytes = s3.client().get_object(Bucket=bucket, Key=key)["Body"].read()
    except s3.errors() as error:
        raise OSError(str(error)) from error
    return data
