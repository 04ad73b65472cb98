"""One encoding per value, and clear refusals of everything else."""

import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared import wire
from prefdex_shared.errors import FormatError, NewerFormatError, TooLargeError

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | TEXT | st.binary()


def _holding(inner: st.SearchStrategy) -> st.SearchStrategy:
    return inner | st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6)


VALUES = _holding(_holding(_holding(LEAVES)))  # no format of ours goes deeper
MANY = 1_000


def _unpack(data: bytes) -> object:
    return wire.unpack(data, "value", 1 << 20, MANY)


@given(VALUES)
def test_round_trip(value: object) -> None:
    assert _unpack(wire.pack(value)) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = _unpack(data)
    except FormatError as error:
        assert str(error).startswith("value: ")
    else:
        assert wire.pack(value) == data


@given(VALUES, st.data())
def test_a_changed_byte_is_another_value_or_refused(value: object, data: st.DataObject) -> None:
    packed = bytearray(wire.pack(value))
    position = data.draw(st.integers(0, len(packed) - 1))
    packed[position] ^= data.draw(st.integers(1, 255))
    try:
        changed = _unpack(bytes(packed))
    except FormatError:
        return
    assert wire.pack(changed) != wire.pack(value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x81\xa1a",
        b"\x82\xa1a\x01\xa1a\x02",
        b"\x81\x01\x02",
        b"\xd9\x01a",
        b"\xcd\x00\x01",
        b"\xd4\x01\x00",
        b"\x01\x01",
        b"\xa1\xff",
        b"\xca\x3f\x80\x00\x00",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\x91" * 100_000 + b"\x01",
    ],
    ids=[
        "nothing",
        "never used",
        "cut off",
        "duplicated key",
        "integer key",
        "long form of a short string",
        "long form of a small integer",
        "extension type",
        "followed by something",
        "not UTF-8",
        "32-bit float",
        "array bomb",
        "map bomb",
        "string bomb",
        "bytes bomb",
        "nesting bomb",
    ],
)
def test_refused(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="^here: "):
            wire.unpack(data, "here", 1 << 20)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 << 20, "memory must not follow what the data claim"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0] * 11, "more items"),
        ([[0] * 5, [0] * 5], "more items"),
        ({"a": [0] * 9}, "more items"),
        ([[[[]]]], "nested"),
    ],
    ids=["in one list", "in two lists", "in a map", "deep"],
)
def test_items_and_depth_are_counted(value: object, message: str) -> None:
    with pytest.raises(TooLargeError, match=message):
        wire.unpack(wire.pack(value), "value", 1_000, max_items=10)
    assert wire.unpack(wire.pack([[[0]], [0] * 5]), "value", 1_000, max_items=10) == [[[0]], [0] * 5]


def test_too_long_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(FormatError, match="more than the 10 allowed"):
        wire.unpack(b"\xc1" * 11, "value", 10)


@given(st.binary(max_size=2_000))
def test_compression_round_trip(data: bytes) -> None:
    assert wire.decompress(wire.compress(data), "value", len(data)) == data


def test_decompression_is_bounded() -> None:
    data = wire.compress(b"text" * 1_000)
    assert wire.decompress(data, "value", 4_000) == b"text" * 1_000
    with pytest.raises(FormatError, match="more than the 3999 bytes allowed"):
        wire.decompress(data, "value", 3_999)


@pytest.mark.parametrize(
    "data",
    [b"", wire.compress(b"text") + b"x", wire.compress(b"text" * 100)[:-1], zlib.compress(b"text"), b"\xff\xff"],
    ids=["nothing", "trailing", "cut off", "zlib", "garbage"],
)
def test_damaged_compression_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        wire.decompress(data, "value", 1_000)


def test_the_version_is_looked_at_first() -> None:
    with pytest.raises(NewerFormatError, match=r"format 9.*up to 1"):
        wire.check_format({"format": 9, "whatever": object()}, "value", 1)
    for value in ({}, {"format": True}, {"format": "1"}, {"format": 0}, [], None):
        with pytest.raises(FormatError, match="no format version"):
            wire.check_format(value, "value", 1)


def test_fields_name_what_is_wrong() -> None:
    with pytest.raises(FormatError, match="unknown field 'c'"):
        wire.Fields({"a": 1, "c": 1}, "value", ("a", "b"))
    with pytest.raises(FormatError, match="'b' is missing"):
        wire.Fields({"a": 1}, "value", ("a", "b"))
    fields = wire.Fields({"n": True, "t": "long", "x": float("nan"), "l": ["a", 1]}, "value", ("n", "t", "x", "l"))
    with pytest.raises(FormatError, match="'n' is not an integer from 0 to 1"):
        fields.integer("n", 0, 1)
    with pytest.raises(FormatError, match="'t' is longer than 3"):
        fields.text("t", 3)
    with pytest.raises(FormatError, match="'x' is not a float"):
        fields.number("x", 0.0, 1.0)
    with pytest.raises(FormatError, match=r"'l\[1\]' is not of type str"):
        fields.texts("l", 5, 5)
