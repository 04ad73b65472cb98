"""Counting what became of pairs, and collecting the entries among them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from prefdex_shared.records import Entry, Pair

from .engines.metering import Usage
from .stages.verify import Outcome
from .workspace import ShardRecord


@dataclass(slots=True)
class Tally:
    """What became of some pairs.

    Attributes:
        candidates: Pairs that passed the coarse filter.
        usage: What was asked of the engine now.
        kept: Pairs judged to be kept.
        discarded: Pairs judged to be discarded.
        failed: Pairs that failed, by stage and reason.
        entries: Pairs that were kept and have an instruction.
    """

    candidates: int = 0
    usage: Usage = field(default_factory=Usage)
    kept: int = 0
    discarded: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    entries: list[Entry] = field(default_factory=list)

    def add(self, pair: Pair, outcome: Outcome) -> None:
        """Count one pair."""
        self.candidates += 1
        self.usage += outcome.usage
        if outcome.verdict is not None:
            self.kept += outcome.verdict.keep
            self.discarded += not outcome.verdict.keep
            if outcome.instruction is not None:
                self.entries.append(_entry(pair, outcome.verdict.confidence, outcome.instruction))
        if outcome.failure is not None:
            self.failed[f"{outcome.failure.stage}: {outcome.failure.reason}"] += 1

    def record(self, sha256: str, n_bytes: int) -> ShardRecord:
        """Return the record of the shard that these entries make."""
        return ShardRecord(
            sha256, n_bytes, self.candidates, self.kept, self.discarded, len(self.entries), self.failed.total()
        )


def _entry(pair: Pair, confidence: float, instruction: str) -> Entry:
    chunk = pair.chunk
    return Entry(chunk.text, chunk.title, chunk.source, instruction, confidence, pair.similarity)
