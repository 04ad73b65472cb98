"""Entries stand best first, whatever order they came in."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.codes import quantize
from prefdex_shared.ranking import MAX_DISTINCT, order, values
from prefdex_shared.records import Entry
from support.bundles import ENCODER, entry

STEPS = st.integers(0, 4).map(lambda step: step / 4)
ENTRIES = st.lists(
    st.builds(
        lambda number, note, confidence, similarity: entry(
            f"Text {number}", f"note {note}", confidence=confidence, similarity=similarity
        ),
        st.integers(0, 50),
        st.integers(0, 3),
        STEPS,
        STEPS.map(lambda step: step - 0.25),
    ),
    max_size=12,
    unique_by=lambda each: each.text,
)


def _codes(entries: list[Entry]) -> np.ndarray:
    return quantize(ENCODER.encode([each.instruction for each in entries]))[0]


@given(ENTRIES, st.randoms())
def test_the_order_does_not_depend_on_the_order_of_arrival(entries: list[Entry], random) -> None:
    shuffled = random.sample(entries, len(entries))
    first, second = ([each[index] for index in order(each, _codes(each))] for each in (entries, shuffled))
    assert first == second


@given(ENTRIES)
def test_each_entry_is_the_most_valuable_of_those_that_were_left(entries: list[Entry]) -> None:
    codes = _codes(entries)
    indices = order(entries, codes)
    stand, rows = [entries[index] for index in indices], codes[indices]
    at = values(stand, rows)
    for place in range(len(stand)):
        for later in range(place + 1, len(stand)):
            instead, instead_rows = [*stand[:place], stand[later]], rows[[*range(place), later]]
            assert values(instead, instead_rows)[-1] <= at[place] + 1e-12


def test_a_repetition_counts_nothing_and_stands_last() -> None:
    entries = [entry("a", "same note"), entry("b", "same note"), entry("c", "another remark", similarity=0.1)]
    stand = [entries[index] for index in order(entries, _codes(entries))]
    assert [each.text for each in stand][1] == "c"
    assert values(stand, _codes(stand))[-1] == pytest.approx(0, abs=1e-9)


def test_values_are_bounded_and_none_for_what_is_far() -> None:
    far = replace(entry("a"), similarity=-0.5)
    assert values([far], _codes([far])) == [0.0]
    best = replace(entry("a"), similarity=1.0, confidence=1.0)
    assert values([best], _codes([best])) == [1.0]
    assert order([], np.zeros((0, 4), np.int8)) == []


def test_very_many_entries() -> None:
    entries = [entry(f"Text {number}", f"note {number}", similarity=number / 4_000) for number in range(3_000)]
    found = order(entries, _codes(entries))
    assert sorted(found) == list(range(3_000))
    # Those after the distinct ones stand by relevance alone.
    rest = [entries[index].similarity for index in found[MAX_DISTINCT:]]
    assert rest == sorted(rest, reverse=True)
