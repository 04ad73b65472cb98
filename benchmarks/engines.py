"""From how many entries on FAISS ranks faster than numpy: a question's way from its vector to its hits.

Entries are random vectors of 20 preferences. Before each question the caches are emptied, as running the encoder would.
Times are CPU times of one thread, paired question by question.
"""

from __future__ import annotations

import statistics

import numpy as np

from harness import arguments, cpu_ms, median_ratio, on_one_thread, report
from prefdex_client.engines import EngineName
from prefdex_client.view import Held, Part, View
from prefdex_shared.ids import EncoderId
from prefdex_shared.records import Entry, Preference
from prefdex_shared.shard import Shard
from prefdex_shared.steering import Scoring
from prefdex_shared.vectors import normalize

N_ENTRIES = {"default": (100, 1_000, 10_000), "full": (100, 1_000, 10_000, 100_000)}
N_QUESTIONS = {"default": 30, "full": 100}
_ENGINES: tuple[EngineName, ...] = ("numpy", "faiss")
_DIM, _N_PREFERENCES, _K, _WARM_UP = 384, 20, 5, 3
_STEP, _SPREAD = 1 / 800, 40
_CACHE_BYTES = 32 << 20


def main() -> None:
    """Run the benchmark."""
    on_one_thread()
    options = arguments(__doc__)
    rng = np.random.default_rng(0)
    questions = normalize(rng.standard_normal((_WARM_UP + N_QUESTIONS[options.size], _DIM)))
    result: dict[str, dict[str, float]] = {}
    for n in N_ENTRIES[options.size]:
        held = [_held(number, n // _N_PREFERENCES, rng) for number in range(_N_PREFERENCES)]
        times = _times([View(held, _DIM, engine) for engine in _ENGINES], questions)
        result[str(n)] = {
            "ratio_faiss_vs_numpy": round(median_ratio(times[1], times[0]), 3),
            **{f"{name}_ms": round(statistics.median(done), 3) for name, done in zip(_ENGINES, times, strict=True)},
        }
    wins = next((int(n) for n, each in result.items() if each["ratio_faiss_vs_numpy"] < 1), None)
    rows = [[n, *(f"{figure:.3f}" for figure in each.values())] for n, each in result.items()]
    columns = ("entries", "FAISS, of numpy", "numpy ms", "FAISS ms")
    report("ranking", columns, rows, {"entries": result, "faiss_wins_from": wins}, as_json=options.json)


def _held(number: int, n: int, rng: np.random.Generator) -> Held:
    codes = np.clip(rng.normal(0, _SPREAD, (1 + n, _DIM)), -127, 127).astype(np.int8)
    entries = tuple(Entry(f"Text {number}-{row}", "", "", "Read it.", 1.0, 0.5) for row in range(n))
    shard = Shard(Preference(f"Preference {number}"), EncoderId("random"), entries, codes, _STEP)
    return Held((Part(shard, "signed", 0),))


def _times(views: list[View], questions: np.ndarray) -> list[list[float]]:
    """Return the times of each view over the questions; the first ones are left out."""
    others = np.zeros(_CACHE_BYTES, dtype=np.uint8)
    steered = Scoring(gate=-1.0)
    times: list[list[float]] = [[] for _ in views]
    for question in questions:
        for view, done in zip(views, times, strict=True):
            others += 1
            done.append(cpu_ms(lambda: view.search(question, steered, _K)))  # noqa: B023 - called at once
    return [done[_WARM_UP:] for done in times]


if __name__ == "__main__":
    main()
