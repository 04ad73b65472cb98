"""An encoder without a model: feature hashing of words.

Texts with common words are near each other; that is all it knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from ..ids import EncoderId, content_hash
from ..vectors import Float32, normalize


class HashingEncoder:
    """A deterministic, dependency-free encoder for tests.

    Args:
        dim: Number of components.
        max_tokens: Cap that `count_tokens` is compared with.
    """

    def __init__(self, dim: int = 64, max_tokens: int = 256) -> None:
        self._dim = dim
        self._max_tokens = max_tokens

    @property
    def id(self) -> EncoderId:
        """Identity of the vector space."""
        return EncoderId(content_hash("prefdex/hashing-encoder/1", str(self._dim), str(self._max_tokens)))

    @property
    def dim(self) -> int:
        """Number of components of a vector."""
        return self._dim

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text."""
        return self._max_tokens

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode texts: float32, (n, dim), L2-normalized."""
        rows = [np.sum([self._word(word) for word in (text.casefold().split() or [""])], axis=0) for text in texts]
        return normalize(np.array(rows).reshape(len(rows), self._dim))

    def count_tokens(self, text: str) -> int:
        """Count white-space words, long ones by fours of characters, and two special tokens."""
        return 2 + sum(1 + len(word) // 4 for word in text.split())

    def _word(self, word: str) -> Float32:
        seed = int.from_bytes(hashlib.sha256(word.encode("utf-8")).digest()[:8], "big")
        return np.random.default_rng(seed).standard_normal(self._dim).astype(np.float32)
