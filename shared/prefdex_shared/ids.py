"""Ids that come from content, so that they are the same on every machine and in every run.

An id is the first 160 bits of a SHA-256 over length-prefixed parts under a domain name, in lower-case hex. Length
prefixes make the input injective: no two different lists of parts are hashed as the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import NewType

ChunkId = NewType("ChunkId", str)
PreferenceId = NewType("PreferenceId", str)
EncoderId = NewType("EncoderId", str)
ShardKey = NewType("ShardKey", str)

ID_HEX_DIGITS = 40

_SURROGATE = re.compile("[\ud800-\udfff]")


def content_hash(domain: str, *parts: str | bytes) -> str:
    """Hash parts under a domain: 40 lower-case hex digits."""
    digest = hashlib.sha256()
    for part in (domain, *parts):
        data = part.encode("utf-8") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:ID_HEX_DIGITS]


def chunk_id(text: str) -> ChunkId:
    """Return the id of a chunk. Equal text is one chunk, wherever it stands."""
    return ChunkId(content_hash("prefdex/chunk/1", text))


def preference_id(text: str) -> PreferenceId:
    """Return the id of a preference. Preferences are equal when their normalized text is."""
    return PreferenceId(content_hash("prefdex/preference/1", normalize_preference(text)))


def normalize_preference(text: str) -> str:
    """Return the text in NFC with white space collapsed. Case counts."""
    return " ".join(unicodedata.normalize("NFC", scrub(text)).split())


def scrub(text: str) -> str:
    """Replace what UTF-8 cannot hold (lone surrogates) by U+FFFD, so that every text can be hashed and written."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def one_line(text: str) -> str:
    """Return the text on one line, white space collapsed, fit to be written."""
    return " ".join(scrub(text).split())


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of bytes: 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()
