"""The byte budget: how many of each preference's entries a bundle takes, so that it never exceeds its cap.

A shard exists at fixed rungs: none of its entries, its best 1, 2, 4, 8, ... or all. A budget picks a rung per
preference and never anything between, so users who share a preference share its shortened shards too.

The entry at place i of a shard counts its value (`prefdex_shared.ranking`) over i, since one answer shows few: the
first entries of a neglected preference are worth more than the hundredth of a rich one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prefdex_shared.container import frame_bytes
from prefdex_shared.vectors import Float64


@dataclass(frozen=True, slots=True)
class Rung:
    """A shard with its first entries only.

    Attributes:
        n_entries: How many.
        sha256: Hash of its bytes, as hex.
        n_bytes: Their number.
        gain: What these entries count together.
    """

    n_entries: int
    sha256: str
    n_bytes: int
    gain: float


Ladder = Sequence[Rung]
"""The rungs of one shard by ascending entries; the first has none, the last has all."""


def rung_lengths(n_entries: int) -> list[int]:
    """Return the numbers of entries at which a shard of `n_entries` exists."""
    powers = [1 << exponent for exponent in range(n_entries.bit_length())]
    return sorted({0, n_entries, *powers})


def gains(values: Float64) -> Float64:
    """Return what the first entries count together, for each number of them: float64, (n + 1,), from 0 on.

    Args:
        values: float64, (n,): the values of a shard's entries, best first.
    """
    return np.concatenate([[0.0], np.cumsum(values / np.arange(1, len(values) + 1))])


def choose(ladders: Sequence[Ladder], max_bytes: int) -> list[int]:
    """Pick a rung of each ladder so that all together cost at most `max_bytes`.

    It begins with no entries at all, and takes the step, on any ladder, that gains most for its bytes and still fits;
    ties go to the preference that the user named first.

    Args:
        ladders: A ladder per preference.
        max_bytes: Bound of the sum of `cost`, at least that of all first rungs.

    Returns:
        For each ladder the index of its rung.
    """
    chosen = [0] * len(ladders)
    left = max_bytes - sum(cost(ladder[0].n_bytes) for ladder in ladders)
    steps = [step for at, ladder in enumerate(ladders) if (step := _best_step(at, ladder, 0, left))]
    heapq.heapify(steps)
    while steps:
        _, at, rung = heapq.heappop(steps)
        price = _price(ladders[at], chosen[at], rung)
        if price <= left:
            left -= price
            chosen[at] = rung
        # Either a step further up, or the best of those that still fit: what is left has only shrunk.
        if step := _best_step(at, ladders[at], chosen[at], left):
            heapq.heappush(steps, step)
    return chosen


def cost(n_bytes: int) -> int:
    """Return what a file of a bundle costs: its bytes, their frame, and the digits of their number in the metadata."""
    return n_bytes + frame_bytes(n_bytes) + len(str(n_bytes))


def _best_step(at: int, ladder: Ladder, start: int, left: int) -> tuple[float, int, int] | None:
    """Return (-gain per byte, ladder, rung) of the best step that fits, in the order of a heap."""
    steps = [
        (-(ladder[rung].gain - ladder[start].gain) / max(price, 1), at, rung)
        for rung in range(start + 1, len(ladder))
        if (price := _price(ladder, start, rung)) <= left
    ]
    return min(steps, default=None)


def _price(ladder: Ladder, start: int, rung: int) -> int:
    return cost(ladder[rung].n_bytes) - cost(ladder[start].n_bytes)
