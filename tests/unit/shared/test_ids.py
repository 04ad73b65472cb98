"""Ids come from content, and from nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.ids import chunk_id, content_hash, normalize_preference, preference_id, scrub
from prefdex_shared.records import Chunk, Preference

TEXT = st.text(st.characters(codec="utf-8"))


@given(st.lists(TEXT), st.lists(TEXT))
def test_different_parts_have_different_hashes(left: list[str], right: list[str]) -> None:
    assert (content_hash("d", *left) == content_hash("d", *right)) == (left == right)


def test_ids_are_stable() -> None:
    # They stand in cache keys and in hits of earlier versions: they may never change.
    assert chunk_id("Tea grows on hills.") == "1d5322cf1ad9953907aa48e7a69a513656dda7c6"
    assert preference_id("I like tea") == "d9788c25c02fee9d186388671aa4f57b670d6056"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("cafe\u0301 only", "caf\u00e9 only"),
        ("  I like\n tea\t", "I like tea"),
        ("at least 7\u00a0seats", "at least 7 seats"),
    ],
)
def test_equal_preferences(left: str, right: str) -> None:
    assert preference_id(left) == preference_id(right)
    assert Preference(left) == Preference(right)


def test_case_and_digits_count() -> None:
    assert preference_id("I like TEA") != preference_id("I like tea")
    assert preference_id("cars of the 1950s") != preference_id("cars of the 1970s")


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_string_can_be_hashed_and_normalized(text: str) -> None:
    scrub(text).encode("utf-8")
    normalized = normalize_preference(text)
    assert normalize_preference(normalized) == normalized


def test_title_is_not_part_of_a_chunks_id() -> None:
    assert Chunk("same", "one").id == Chunk("same", "other", "elsewhere").id
