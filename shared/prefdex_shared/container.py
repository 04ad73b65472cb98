"""`.pdx`: one file that holds a bundle, or a patch, which is the same with fewer files.

A canonical msgpack map of root metadata, targets metadata and files by name. Reading it checks its form and its caps
only; it is the one thing that is parsed before anything is verified. What it says is believed only after
`trust.verify`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from . import wire
from .errors import FormatError, TooLargeError
from .shard import MAX_SHARD_BYTES

FORMAT = 1
MAX_CONTAINER_BYTES = 8 << 20
MAX_ROOTS = 64
MAX_METADATA_BYTES = 512 << 10
MAX_FILES = 1_001

_MAX_ITEMS = 8 + MAX_ROOTS + 2 * MAX_FILES
_FILE_NAME = re.compile(r"manifest|s(0|[1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class Container:
    """The parts of a `.pdx`, not yet believed.

    Attributes:
        roots: Root metadata after the one that devices are given, by ascending version.
        targets: Signed metadata that name every file of the bundle.
        files: Content by name: all of them in a bundle, some in a patch.
    """

    roots: tuple[bytes, ...]
    targets: bytes
    files: Mapping[str, bytes]


def encode(container: Container) -> bytes:
    """Encode a container: files by name, shorter names first, so that equal content is equal bytes."""
    names = sorted(container.files, key=lambda name: (len(name), name))
    return wire.pack(
        {
            "format": FORMAT,
            "roots": list(container.roots),
            "targets": container.targets,
            "files": {name: container.files[name] for name in names},
        }
    )


def decode(data: bytes) -> Container:
    """Decode a container; nothing in it is believed yet.

    Raises:
        FormatError: Not a container, or not canonical.
        TooLargeError: Over a cap.
        NewerFormatError: Written for a newer prefdex.
    """
    value = wire.unpack(data, "container", MAX_CONTAINER_BYTES, _MAX_ITEMS)
    wire.check_format(value, "container", FORMAT)
    fields = wire.Fields(value, "container", ("format", "roots", "targets", "files"))
    roots = fields.datas("roots", MAX_ROOTS, MAX_METADATA_BYTES)
    container = Container(tuple(roots), fields.data("targets", MAX_METADATA_BYTES), _files(fields.raw("files")))
    if encode(container) != data:
        raise FormatError("container: not in canonical form.")
    return container


def frame_bytes(n_bytes: int) -> int:
    """Return the bytes that stand before a value of so many bytes, in a container's map of files (msgpack's bin)."""
    return 2 if n_bytes < 1 << 8 else 3 if n_bytes < 1 << 16 else 5


def _files(value: object) -> dict[str, bytes]:
    if not isinstance(value, dict):
        raise FormatError("container: 'files' is not a map.")
    if len(value) > MAX_FILES:
        raise TooLargeError(f"container: more than {MAX_FILES} files.")
    for name, data in value.items():
        if not _FILE_NAME.fullmatch(name):
            raise FormatError(f"container: {name[:40]!r} is not the name of a file in a bundle.")
        if not isinstance(data, bytes):
            raise FormatError(f"container: file {name!r} is not bytes.")
        if len(data) > MAX_SHARD_BYTES:
            raise TooLargeError(f"container: file {name!r} is longer than {MAX_SHARD_BYTES}.")
    return value
