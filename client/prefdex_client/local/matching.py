"""filter -> judge -> write on the device, for some chunks and some preferences: the builder's own code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prefdex_shared.filtering import FilterConfig, filter_block
from prefdex_shared.judging import judge
from prefdex_shared.llm import LLM
from prefdex_shared.records import Entry, Failure, Pair, Preference
from prefdex_shared.vectors import Float16
from prefdex_shared.writing import write

from .window import WindowChunk


@dataclass(frozen=True, slots=True)
class Matches:
    """What was kept.

    Attributes:
        entries: By preference.
        candidates: Pairs that the coarse filter let through.
        failed: Pairs without an answer.
    """

    entries: Mapping[Preference, Sequence[Entry]]
    candidates: int
    failed: int

    @property
    def kept(self) -> int:
        """Pairs that were kept."""
        return sum(map(len, self.entries.values()))


def match(
    chunks: Sequence[WindowChunk],
    preferences: Mapping[Preference, Float16],
    known: Mapping[Preference, Container[str]],
    llm: LLM,
    tau: float,
) -> Matches:
    """Match chunks with preferences.

    Args:
        chunks: The chunks.
        preferences: Each with its vector: float16, (dim,), L2-normalized.
        known: Texts of the chunks that are kept for a preference already.
        llm: Judges and writes.
        tau: Threshold of the coarse filter.
    """
    if not chunks or not preferences:
        return Matches({}, 0, 0)
    by_id = {held.chunk.id: held for held in chunks}
    vectors = np.stack([held.vector for held in by_id.values()])
    found = filter_block(list(by_id), vectors, np.stack(list(preferences.values())), FilterConfig(tau))
    pairs = [
        Pair(by_id[candidate.chunk_id].chunk, preference, candidate.similarity)
        for preference, candidates in zip(preferences, found, strict=True)
        for candidate in candidates
        if by_id[candidate.chunk_id].chunk.text not in known.get(preference, ())
    ]
    verdicts = list(zip(pairs, judge(pairs, llm), strict=True))
    kept = [(pair, verdict) for pair, verdict in verdicts if not isinstance(verdict, Failure) and verdict.keep]
    failed = sum(isinstance(verdict, Failure) for _, verdict in verdicts)
    entries: dict[Preference, list[Entry]] = defaultdict(list)
    for (pair, verdict), instruction in zip(kept, write([pair for pair, _ in kept], llm), strict=True):
        if isinstance(instruction, Failure):
            failed += 1
        else:
            chunk = pair.chunk
            entry = Entry(chunk.text, chunk.title, chunk.source, instruction, verdict.confidence, pair.similarity)
            entries[pair.preference].append(entry)
    return Matches(entries, len(pairs), failed)
