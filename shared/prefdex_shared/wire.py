"""Strict msgpack: one encoding per value, caps on everything, and errors that name the field.

Only maps with string keys, lists, strings, bytes, integers, floats, booleans and nil exist. A reader refuses unknown
and duplicated fields, wrong types, numbers out of range, and any encoding that it would not have written itself; so
each value has exactly one encoding, and no byte can be changed without changing what it says. Numbers of items and
depth are checked before anything is made of them: one byte of msgpack can stand for a hundred in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import brotli
import msgpack

from .errors import FormatError, NewerFormatError, TooLargeError

T = TypeVar("T")
Text = TypeVar("Text", str, bytes)

_WINDOW_BITS = 20
"""A reader needs a window of 1 MiB at most, however large the data."""

_MAX_DEPTH = 3
_LIST = {*range(0x90, 0xA0), 0xDC, 0xDD}
_MAP = {*range(0x80, 0x90), 0xDE, 0xDF}
"""First bytes of msgpack's arrays and maps."""


def pack(value: object) -> bytes:
    """Encode a value. Maps keep the order of their keys; floats are 64-bit."""
    data: bytes = msgpack.packb(value, use_bin_type=True)
    return data


def unpack(data: bytes, where: str, max_bytes: int, max_items: int = 100) -> object:
    """Decode a value.

    Args:
        data: The encoding.
        where: What it is, for messages.
        max_bytes: Refuse longer data.
        max_items: Refuse more items in its maps and lists, all together; a key counts as one.

    Raises:
        FormatError: Not the canonical msgpack of a value.
        TooLargeError: Longer than allowed, or with more items, or nested deeper than any of our formats.
    """
    if len(data) > max_bytes:
        raise TooLargeError(f"{where}: {len(data)} bytes are more than the {max_bytes} allowed.")
    decoder = _Decoder(data, where, max_items)
    try:
        value = decoder.value(_MAX_DEPTH)
        canonical = pack(value)
    except (ValueError, TypeError, OverflowError, msgpack.OutOfData) as error:
        # The text of msgpack's error may quote the data, so only its kind is passed on.
        raise FormatError(f"{where}: not well-formed ({type(error).__name__}).") from None
    if canonical != data:
        raise FormatError(f"{where}: not in canonical form.")
    return value


class _Decoder:
    """Walks maps and lists itself, within bounds; single values are the library's."""

    def __init__(self, data: bytes, where: str, max_items: int) -> None:
        self._data, self._where, self._items_left = data, where, max_items
        self._unpacker = msgpack.Unpacker(
            raw=False,
            ext_hook=_refuse_extension,
            max_buffer_size=len(data),
            max_str_len=len(data),
            max_bin_len=len(data),
            max_array_len=0,
            max_map_len=0,
            max_ext_len=0,
        )
        self._unpacker.feed(data)

    def value(self, depth: int) -> object:
        """Decode the next value, of at most so many levels of maps and lists."""
        at = self._unpacker.tell()
        first = self._data[at] if at < len(self._data) else None
        if first in _LIST:
            return [self.value(depth - 1) for _ in range(self._count(self._unpacker.read_array_header(), depth))]
        if first in _MAP:
            n = self._count(2 * self._unpacker.read_map_header(), depth) // 2
            result: dict[str, object] = {}
            for _ in range(n):
                key = self._unpacker.unpack()
                if not isinstance(key, str):
                    raise FormatError(f"{self._where}: a key is not a string.")
                if key in result:
                    raise FormatError(f"{self._where}: the field {key[:40]!r} stands there twice.")
                result[key] = self.value(depth - 1)
            return result
        return self._unpacker.unpack()

    def _count(self, n: int, depth: int) -> int:
        if depth == 0:
            raise TooLargeError(f"{self._where}: nested more than {_MAX_DEPTH} deep.")
        self._items_left -= n
        if self._items_left < 0:
            raise TooLargeError(f"{self._where}: more items than allowed.")
        return n


class Fields:
    """Typed access to the fields of a decoded map.

    Args:
        value: The decoded value.
        where: What it is, for messages.
        names: Exactly the fields that it must have.
    """

    def __init__(self, value: object, where: str, names: Iterable[str]) -> None:
        if not isinstance(value, dict):
            raise FormatError(f"{where}: not a map.")
        expected = set(names)
        if unknown := sorted(set(value) - expected):
            raise FormatError(f"{where}: unknown field {unknown[0][:40]!r}.")
        if missing := sorted(expected - set(value)):
            raise FormatError(f"{where}: field {missing[0]!r} is missing.")
        self._value = value
        self.where = where

    def text(self, name: str, max_characters: int) -> str:
        """Return a string of at most `max_characters`."""
        return self._checked(name, self._value[name], str, max_characters)

    def data(self, name: str, max_bytes: int) -> bytes:
        """Return bytes of at most `max_bytes`."""
        return self._checked(name, self._value[name], bytes, max_bytes)

    def integer(self, name: str, smallest: int, largest: int) -> int:
        """Return an integer within bounds."""
        return self._integer(name, self._value[name], smallest, largest)

    def number(self, name: str, smallest: float, largest: float) -> float:
        """Return a float within bounds; neither infinite nor NaN when the bounds are finite."""
        value = self._value[name]
        if not isinstance(value, float) or not smallest <= value <= largest:
            raise FormatError(f"{self.where}: {name!r} is not a float from {smallest} to {largest}.")
        return value

    def texts(self, name: str, max_items: int, max_characters: int) -> list[str]:
        """Return a list of strings."""
        return self._items(name, max_items, lambda at, each: self._checked(at, each, str, max_characters))

    def datas(self, name: str, max_items: int, max_bytes: int) -> list[bytes]:
        """Return a list of bytes."""
        return self._items(name, max_items, lambda at, each: self._checked(at, each, bytes, max_bytes))

    def integers(self, name: str, max_items: int, smallest: int, largest: int) -> list[int]:
        """Return a list of integers within bounds."""
        return self._items(name, max_items, lambda at, each: self._integer(at, each, smallest, largest))

    def raw(self, name: str) -> object:
        """Return a field as decoded."""
        return self._value[name]

    def _items(self, name: str, max_items: int, check: Callable[[str, object], T]) -> list[T]:
        value = self._value[name]
        if not isinstance(value, list):
            raise FormatError(f"{self.where}: {name!r} is not a list.")
        if len(value) > max_items:
            raise TooLargeError(f"{self.where}: {name!r} has more than {max_items} items.")
        return [check(f"{name}[{index}]", each) for index, each in enumerate(value)]

    def _checked(self, name: str, value: object, kind: type[Text], largest: int) -> Text:
        if not isinstance(value, kind):
            raise FormatError(f"{self.where}: {name!r} is not of type {kind.__name__}.")
        if len(value) > largest:
            raise TooLargeError(f"{self.where}: {name!r} is longer than {largest}.")
        return value

    def _integer(self, name: str, value: object, smallest: int, largest: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
            raise FormatError(f"{self.where}: {name!r} is not an integer from {smallest} to {largest}.")
        return value


def check_format(value: object, where: str, known: int) -> None:
    """Check the field `format` of a map before anything else of it is looked at.

    Raises:
        NewerFormatError: Written for a newer prefdex.
        FormatError: There is no version at all.
    """
    version = value.get("format") if isinstance(value, dict) else None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FormatError(f"{where}: there is no format version.")
    if version > known:
        raise NewerFormatError(
            f"{where}: it is of format {version}; this prefdex reads formats up to {known}.", hint="Upgrade prefdex."
        )


def compress(data: bytes) -> bytes:
    """Compress as one brotli stream (RFC 7932)."""
    compressed: bytes = brotli.compress(data, quality=11, lgwin=_WINDOW_BITS)
    return compressed


def decompress(data: bytes, where: str, max_bytes: int) -> bytes:
    """Decompress a brotli stream.

    Raises:
        FormatError: Not one whole stream.
        TooLargeError: More than `max_bytes` once decompressed.
    """
    decompressor = brotli.Decompressor()
    try:
        # The library may give somewhat more than the limit, and stops there.
        raw: bytes = decompressor.process(data, output_buffer_limit=max_bytes + 1)
    except brotli.error:
        raise FormatError(f"{where}: the compressed data are damaged, or followed by something else.") from None
    if len(raw) > max_bytes:
        raise TooLargeError(f"{where}: more than the {max_bytes} bytes allowed once decompressed.")
    if not decompressor.is_finished():
        raise FormatError(f"{where}: the compressed data are cut off.")
    return raw


def _refuse_extension(*_: object) -> object:
    raise ValueError("extension types are not used")
