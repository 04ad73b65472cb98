"""The shard: round trips, equal bytes for equal content, and refusal of anything else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared import ranking, wire
from prefdex_shared import shard as shards
from prefdex_shared.errors import ConfigurationError, FormatError, NewerFormatError
from prefdex_shared.packing import pack
from prefdex_shared.records import Entry, Preference
from prefdex_shared.shard import MAX_ENTRIES, MAX_TEXT_CHARACTERS
from support.bundles import CONTENT, ENCODER, entry

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
ENTRIES = st.lists(
    st.builds(Entry, TEXT, TEXT, TEXT, TEXT, st.floats(0, 1), st.floats(-1, 1)),
    max_size=12,
    unique_by=lambda each: each.text,
)
PREFERENCES = TEXT.map(Preference).filter(lambda preference: preference.text)
GOOD = pack(Preference("I like trains"), CONTENT["I like trains"], ENCODER)


@given(PREFERENCES, ENTRIES, st.randoms())
def test_round_trip_in_any_order(preference: Preference, entries: list[Entry], random) -> None:
    data = pack(preference, entries, ENCODER)
    shuffled = random.sample(entries, len(entries))
    assert pack(preference, shuffled, ENCODER) == data
    shard = shards.decode(data, "shard")
    assert shards.encode(shard) == data
    assert shard.preference == preference
    assert {each.text: (each.title, each.source, each.instruction) for each in shard.entries} == {
        each.text: (each.title, each.source, each.instruction) for each in entries
    }
    by_text = {each.text: each for each in entries}
    for each in shard.entries:
        assert each.confidence == pytest.approx(by_text[each.text].confidence, abs=5.1e-4)
        assert each.similarity == pytest.approx(by_text[each.text].similarity, abs=5.1e-5)


@given(ENTRIES)
def test_entries_stand_best_first_with_their_own_vectors(entries: list[Entry]) -> None:
    shard = shards.decode(pack(Preference("p"), entries, ENCODER), "shard")
    assert ranking.order(shard.entries, shard.codes[1:]) == list(range(len(entries)))
    expected = ENCODER.encode([each.instruction for each in shard.entries])
    np.testing.assert_allclose(shard.vectors, expected, atol=np.abs(expected).max(initial=0) / 120)
    np.testing.assert_allclose(shard.preference_vector, ENCODER.encode(["p"])[0], atol=0.01)


def test_the_largest_legal_shard_loads() -> None:
    entries = [entry(f"Chunk number {number}.") for number in range(3_000)]
    assert len(shards.decode(pack(Preference("p"), entries, ENCODER), "shard").entries) == 3_000


def test_over_a_cap_is_refused_when_it_is_written() -> None:
    with pytest.raises(ConfigurationError, match=f"'texts\\[0\\]' is longer than {MAX_TEXT_CHARACTERS}"):
        pack(Preference("p"), [entry("x" * (MAX_TEXT_CHARACTERS + 1))], ENCODER)
    good = shards.decode(GOOD, "shard")
    many = replace(good, entries=tuple(entry(str(number)) for number in range(MAX_ENTRIES + 1)))
    with pytest.raises(ConfigurationError, match="over a cap"):
        shards.encode(many)


def _outer(**changes: object) -> bytes:
    return wire.pack(wire.unpack(GOOD, "shard", 1 << 20) | changes)  # type: ignore[operator]


def _body(**changes: object) -> bytes:
    outer = wire.unpack(GOOD, "shard", 1 << 20)
    body = wire.unpack(wire.decompress(outer["body"], "shard", 1 << 20), "shard", 1 << 20)  # type: ignore[index]
    return _outer(body=wire.compress(wire.pack(body | changes)))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_outer(codec="lzma"), "codec"),
        (_outer(extra=1), "unknown field 'extra'"),
        (_outer(codes=wire.compress(bytes(10))), "10 bytes of codes"),
        (_outer(codes=wire.compress(bytes(10_000_000))), "bytes allowed once decompressed"),
        (_outer(body=b"\x00"), "compressed data"),
        (_body(dim=0), "'dim'"),
        (_body(encoder=bytes(21)), "'encoder'"),
        (_body(preference="  I like   trains"), "normal form"),
        (_body(preference=""), "empty"),
        (_body(step=0.0), "positive 32-bit float"),
        (_body(step=-0.1), "'step'"),
        (_body(step=float("nan")), "'step'"),
        (_body(step=0.1), "positive 32-bit float"),
        (_body(step=1e-300), "positive 32-bit float"),
        (_body(confidences=[1, 2]), "differ in length"),
        (_body(confidences=[1, 2, 1001]), r"confidences\[2\]"),
        (_body(similarities=[0, 0, -10_001]), r"similarities\[2\]"),
        (_body(texts=["a", "b", "a"]), "same chunk"),
        (_body(titles=["a", "b", 3]), r"titles\[2\]"),
        (_body(instructions="abc"), "'instructions' is not a list"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        shards.decode(data, "s0")


def test_a_newer_format_is_refused_by_its_version() -> None:
    with pytest.raises(NewerFormatError, match="format 2"):
        shards.decode(wire.pack({"format": 2, "unheard": "of"}), "s0")
