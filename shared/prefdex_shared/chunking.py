"""Cutting a document into chunks at the ends of sentences.

What always holds: every chunk has at most `max_tokens` tokens and `max_characters` characters, so that the encoder
never truncates one; no chunk is empty; no character but white space is lost; and the chunks depend on the text alone.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .errors import ConfigurationError
from .ids import content_hash, scrub

CountTokens = Callable[[str], int]
"""Number of tokens of a text, special tokens included."""

# A sentence ends at closing punctuation followed by white space, at full-width punctuation (which is followed by
# none), and at the end of a line.
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*[ \t]+|(?<=[。！？｡])[」』”’）]*|\n+")
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
# CJK writing has no spaces; two characters are about as much content as one English word.
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_CJK_PER_WORD = 2


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """How documents are cut.

    Attributes:
        target_words: A chunk is closed at the end of the sentence that passes this many words.
        min_words: A last piece with fewer words joins the chunk before it, if the caps allow.
        max_tokens: Hard cap, in the encoder's tokens, special tokens included.
        max_characters: Hard cap, in characters. A tokenizer may map a very long word to one token.
    """

    target_words: int = 100
    min_words: int = 25
    max_tokens: int = 256
    max_characters: int = 2000

    def __post_init__(self) -> None:
        if self.target_words < 1 or self.max_tokens < 8 or self.max_characters < 16:
            raise ConfigurationError("A chunk needs target_words >= 1, max_tokens >= 8 and max_characters >= 16.")

    @property
    def id(self) -> str:
        """Identity of the chunker, for cache keys."""
        sizes = (self.target_words, self.min_words, self.max_tokens, self.max_characters)
        return content_hash("prefdex/chunker/1", *map(str, sizes))


def clean(text: str) -> str:
    """Return the text in NFC, without control characters, blanks collapsed, and no empty lines."""
    text = unicodedata.normalize("NFC", scrub(text)).replace("\r\n", "\n").replace("\r", "\n")
    return _LINES.sub("\n", _BLANKS.sub(" ", _CONTROL.sub(" ", text))).strip()


def count_words(text: str) -> int:
    """Count words; two CJK characters count as one."""
    n_cjk = len(_CJK.findall(text))
    return len((_CJK.sub(" ", text) if n_cjk else text).split()) + n_cjk // _CJK_PER_WORD


def sentences(text: str) -> list[str]:
    """Split a cleaned text into sentences that join to the text again."""
    starts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(starts) if end > start]


def chunk(text: str, config: ChunkConfig, count_tokens: CountTokens) -> list[str]:
    """Cut a document's text into chunks.

    Args:
        text: Any text.
        config: Sizes.
        count_tokens: The encoder's own count, special tokens included.

    Returns:
        The chunks in the order of the text; none for a text of white space.
    """
    fits = _Fits(config, count_tokens)
    pieces = [piece for sentence in sentences(clean(text)) for piece in _bounded(sentence, fits)]
    chunks: list[str] = []
    current = ""
    for piece in pieces:
        if current and not fits(current + piece):
            chunks.append(current)
            current = ""
        current += piece
        if count_words(current) >= config.target_words:
            chunks.append(current)
            current = ""
    if current:
        joins = chunks and count_words(current) < config.min_words and fits(chunks[-1] + current)
        if joins:
            chunks[-1] += current
        else:
            chunks.append(current)
    return [stripped for stripped in (piece.strip() for piece in chunks) if stripped]


@dataclass(frozen=True, slots=True)
class _Fits:
    """Whether a text is within both caps; the cheap one is asked first."""

    config: ChunkConfig
    count_tokens: CountTokens

    def __call__(self, text: str) -> bool:
        return len(text) <= self.config.max_characters and self.count_tokens(text) <= self.config.max_tokens


def _bounded(sentence: str, fits: _Fits) -> Iterator[str]:
    """Halve a sentence, at white space where there is some near the middle, until each part is within the caps."""
    pending = [sentence]
    while pending:
        part = pending.pop()
        if len(part) <= 1 or fits(part):
            yield part
            continue
        middle = _cut(part)
        pending += [part[middle:], part[:middle]]


def _cut(text: str) -> int:
    middle, quarter = len(text) // 2, len(text) // 4
    before = text.rfind(" ", quarter, middle)
    after = text.find(" ", middle, len(text) - quarter)
    candidates = [position + 1 for position in (before, after) if position >= 0]
    return min(candidates, key=lambda position: abs(position - middle), default=middle)
