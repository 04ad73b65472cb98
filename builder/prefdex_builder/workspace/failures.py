"""Pairs that failed: which, in what stage, and why; and how many builds have tried. No text of them.

failures/failures.parquet   preference id, chunk id, stage, reason, tries
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, replace

import pyarrow as pa

from .storage import Storage

_FILE = "failures.parquet"
_SCHEMA = pa.schema(
    [
        ("preference", pa.string()),
        ("chunk_id", pa.string()),
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("tries", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair that failed.

    Attributes:
        preference: Id of the preference.
        chunk_id: The chunk.
        stage: `judge` or `write`.
        reason: What went wrong.
        tries: Builds that have tried.
    """

    preference: str
    chunk_id: str
    stage: str
    reason: str
    tries: int = 1


@dataclass(frozen=True, slots=True)
class FailureStore:
    """Reads and writes failures.

    Attributes:
        storage: The folder `failures`.
    """

    storage: Storage

    def load(self) -> list[Failure]:
        """Return all pairs that are without an answer for now."""
        if not self.storage.exists(_FILE):
            return []
        return [Failure(**row) for row in self.storage.read_table(_FILE).to_pylist()]

    def replace(self, failures: Sequence[Failure], tried: Collection[str]) -> None:
        """Keep what failed now, in the place of what had failed for the preferences that were tried, by id."""
        held = {(each.preference, each.chunk_id): each for each in self.load()}
        if not held and not failures:
            return
        kept = [each for each in held.values() if each.preference not in tried]
        for each in failures:
            before = held.get((each.preference, each.chunk_id))
            kept.append(replace(each, tries=before.tries + 1) if before else each)
        rows = [dict(zip(_SCHEMA.names, astuple(each), strict=True)) for each in kept]
        self.storage.write_table(_FILE, pa.Table.from_pylist(rows, schema=_SCHEMA))
