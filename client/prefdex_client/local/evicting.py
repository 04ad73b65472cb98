"""Making room: the least valuable local entries go first, whatever their preference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from prefdex_shared import ranking
from prefdex_shared import shard as shards
from prefdex_shared.shard import Shard


@dataclass(frozen=True, slots=True)
class Encoded:
    """A shard with its bytes.

    Attributes:
        shard: The shard.
        data: Its encoding.
    """

    shard: Shard
    data: bytes


def encode(shard: Shard) -> Encoded:
    """Encode a shard."""
    return Encoded(shard, shards.encode(shard))


def evict(held: Mapping[str, Encoded], room: Callable[[Mapping[str, Encoded]], int]) -> tuple[dict[str, Encoded], int]:
    """Remove the least valuable entries until there is room.

    Args:
        held: Shards by their preferences' tags.
        room: How many bytes are left with some shards; negative when they are too many.

    Returns:
        The shards that fit, and the number of entries that went. A shard without entries goes as a whole.
    """
    left, evicted = dict(held), 0
    while (missing := -room(left)) > 0 and left:
        rows = [
            (value, tag, row)
            for tag, each in left.items()
            for row, value in enumerate(ranking.values(each.shard.entries, each.shard.codes[1:]).tolist())
        ]
        n_bytes = sum(len(each.data) for each in left.values())
        n_out = min(len(rows), 1 + missing * len(rows) // max(n_bytes, 1))
        out = {(tag, row) for _, tag, row in sorted(rows)[:n_out]}
        evicted += len(out)
        for tag in {tag for tag, _ in out}:
            shard = left[tag].shard
            rest = [row for row in range(len(shard.entries)) if (tag, row) not in out]
            if rest:
                left[tag] = encode(_select(shard, rest))
            else:
                del left[tag]
    return left, evicted


def _select(shard: Shard, rows: list[int]) -> Shard:
    codes = shard.codes[[0, *(1 + row for row in rows)]]
    return replace(shard, entries=tuple(shard.entries[row] for row in rows), codes=codes)
