"""Chunks are bounded, lose nothing, and depend on the text alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.chunking import ChunkConfig, chunk, clean, count_words, sentences
from prefdex_shared.encoder import HashingEncoder
from prefdex_shared.errors import ConfigurationError

COUNT = HashingEncoder().count_tokens
CONFIG = ChunkConfig(target_words=20, min_words=5, max_tokens=60, max_characters=300)

AWKWARD = {
    "newlines instead of full stops": "\n".join(
        f"line {number} of a list without any full stop" for number in range(300)
    ),
    "CJK": "東京は日本の首都である。人口は多い。" * 200,
    "CJK without punctuation": "漢字" * 5_000,
    "one endless sentence": "and then " * 5_000,
    "a line of 100,000 characters": "x" * 100_000,
    "a long line with few blanks": ("y" * 3_000 + " ") * 20,
    "emoji": "👩‍👩‍👧‍👦" * 3_000,
    "control characters": "a\x00b\x07 " * 2_000,
    "windows line ends": "A sentence.\r\nAnother one.\r\n" * 400,
}


def _characters(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD.keys())
def test_awkward_texts_give_bounded_chunks(text: str) -> None:
    chunks = chunk(text, CONFIG, COUNT)
    assert len(chunks) > 1
    assert all(COUNT(each) <= CONFIG.max_tokens and len(each) <= CONFIG.max_characters for each in chunks)
    assert _characters("".join(chunks)) == _characters(clean(text))


@given(st.text(st.characters(codec=None, categories=None), max_size=2_000))
def test_any_text_gives_bounded_chunks_and_loses_nothing(text: str) -> None:
    chunks = chunk(text, CONFIG, COUNT)
    assert all(each and each == each.strip() for each in chunks)
    assert all(COUNT(each) <= CONFIG.max_tokens and len(each) <= CONFIG.max_characters for each in chunks)
    assert _characters("".join(chunks)) == _characters(clean(text))


def test_chunks_end_at_sentences_near_the_target() -> None:
    text = " ".join(f"This is sentence number {number} of the text." for number in range(100))
    chunks = chunk(text, ChunkConfig(), COUNT)
    assert all(each.endswith(".") for each in chunks)
    # Eight words a sentence: the thirteenth passes 100.
    assert [count_words(each) for each in chunks[:-1]] == [104] * (len(chunks) - 1)


def test_a_short_rest_joins_the_chunk_before() -> None:
    first = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
    text = f"{first} Seventeen eighteen nineteen twenty. And a rest."
    assert chunk(text, CONFIG, COUNT) == [text]


def test_sentences_of_several_scripts() -> None:
    assert sentences('He asked "Why?" She left. 3.5 is a number.') == [
        'He asked "Why?" ',
        "She left. ",
        "3.5 is a number.",
    ]
    assert sentences("一つ目。二つ目！三つ目") == ["一つ目。", "二つ目！", "三つ目"]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t", "\x00"])
def test_nothing_gives_no_chunk(text: str) -> None:
    assert chunk(text, CONFIG, COUNT) == []


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="max_tokens"):
        ChunkConfig(max_tokens=2)
