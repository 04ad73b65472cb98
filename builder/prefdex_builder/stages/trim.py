"""trim: a whole shard -> the same shard at all its rungs, for byte budgets to pick from."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from prefdex_shared import shard as shards
from prefdex_shared.ids import sha256_hex
from prefdex_shared.ranking import values

from ..budget import Rung, gains, rung_lengths
from ..cluster.stage import ONE_CPU, Call, Resources
from ..workspace import ShardIndex


def trim(data: bytes) -> list[tuple[Rung, bytes]]:
    """Return a shard at each of its rungs, with the bytes.

    Args:
        data: The whole shard.
    """
    whole = shards.decode(data, "shard")
    counts = gains(values(whole.entries, whole.codes[1:]))
    cut = [(n, shards.encode(whole.first(n))) for n in rung_lengths(len(whole.entries))]
    return [(Rung(n, sha256_hex(each), len(each), float(counts[n])), each) for n, each in cut]


def trim_stored(stored: ShardIndex, sha256: str) -> None:
    """Store a stored shard's shortened forms, and then name them.

    Args:
        stored: Where shards are stored.
        sha256: Hash of the whole shard.
    """
    rungs = trim(stored.get(sha256))
    for _, data in rungs:
        stored.put(data)
    stored.record_ladder(sha256, [rung for rung, _ in rungs])


@dataclass(frozen=True, slots=True)
class TrimStage:
    """Cuts and stores shards on a worker.

    Attributes:
        shards: Where shards are stored.
    """

    shards: ShardIndex
    name: str = "trim"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        """Nothing needs to be loaded."""

        def call(batch: pa.Table) -> pa.Table:
            for sha256 in batch["sha256"].to_pylist():
                trim_stored(self.shards, sha256)
            return batch

        return call
