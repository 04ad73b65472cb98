"""Settings and results of `ingest`."""

from __future__ import annotations

from dataclasses import dataclass

from prefdex_shared.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class LocalConfig:
    """What a device keeps of the documents that come to it.

    Attributes:
        tau: A chunk is a candidate for a preference at this cosine similarity and above.
        max_store_bytes: All files of the store together; what is least valuable of the local entries makes room.
        max_window_bytes: Recent documents that are kept, for preferences that come later; the oldest make room.
    """

    tau: float = 0.25
    max_store_bytes: int = 1_000_000
    max_window_bytes: int = 100_000

    def __post_init__(self) -> None:
        if not -1 <= self.tau <= 1:
            raise ConfigurationError(f"tau is a cosine similarity between -1 and 1, not {self.tau}.")
        if self.max_store_bytes < 0 or self.max_window_bytes < 0:
            raise ConfigurationError("A number of bytes is at least 0.")


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of some documents.

    Attributes:
        documents: Documents that came.
        chunks: New chunks of them; a text that is in the window already is none.
        candidates: Pairs of chunk and preference that the coarse filter let through.
        kept: Pairs that were kept.
        failed: Pairs that the language model gave no answer for.
        evicted: Entries that made room.
        store_bytes: All files of the store, afterwards.
    """

    documents: int
    chunks: int
    candidates: int
    kept: int
    failed: int
    evicted: int
    store_bytes: int
