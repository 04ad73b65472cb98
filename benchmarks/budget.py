"""What a byte budget keeps: how often the five hits hold something kept for the question's own preference.

Beside prefdex's choice stand two others of the same size: entries at random, and entries as they come, preference by
preference. `share` is the part of the five hits that is kept for the question's own preference.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from harness import arguments, report
from material import bundle, corpus, encode, encoder, entries, make_shards, signer
from prefdex_builder.budget import choose, cost
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_builder.stages.trim import trim
from prefdex_client import Memory
from prefdex_shared import shard as shards
from prefdex_shared.manifest import Manifest
from prefdex_shared.shard import Shard
from prefdex_shared.steering import Scoring
from prefdex_shared.vectors import Float32

N_DOCUMENTS = {"default": 2_000, "full": 4_000}
N_PERSONAS = {"default": 12, "full": 1_000}
N_RANDOM_INPUTS = {"default": 200, "full": 2_000}
KILOBYTES = (16, 24, 32, 48, 64, 128, 256, 1024)
_K = 5
_SEED = 0

Choice = Callable[[Persona, Sequence[Shard], int], list[Shard]]


class Cached:
    """The encoder, with the questions' vectors kept: they are asked again for every budget."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._encoder = encoder("int8")
        self._vectors = dict(zip(texts, encode(texts), strict=True))
        self.id, self.dim, self.max_tokens = self._encoder.id, self._encoder.dim, self._encoder.max_tokens
        self.count_tokens = self._encoder.count_tokens

    def encode(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of known texts."""
        return np.array([self._vectors[text] for text in texts])


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    source = corpus(N_DOCUMENTS[options.size])
    personas = read_personas(options.personas)[: N_PERSONAS[options.size]]
    held = [(persona, make_shards(entries(persona, source))) for persona in personas]
    ask = Cached([question for persona in personas for block in persona.blocks for question in block.questions])
    methods: dict[str, Choice] = {"ours": _ours, "random": _random, "first come": _first_come}
    exceeded = 0
    by_budget: dict[str, dict[str, dict[str, float]]] = {}
    for kilobytes in KILOBYTES:
        cap = kilobytes * 1024
        by_budget[f"{kilobytes}"] = {}
        for name, method in methods.items():
            results = [_measure(persona, method(persona, packed, cap), ask) for persona, packed in held]
            exceeded += sum(size > cap for size, _, _ in results) if name == "ours" else 0
            hit_rate, share = (statistics.mean(each[at] for each in results) for at in (1, 2))
            by_budget[f"{kilobytes}"][name] = {"hit_rate": round(hit_rate, 4), "share": round(share, 4)}
    exceeded += _random_inputs(N_RANDOM_INPUTS[options.size])
    result = {
        "hit_rate": {kb: {name: each["hit_rate"] for name, each in row.items()} for kb, row in by_budget.items()},
        "share": {kb: {name: each["share"] for name, each in row.items()} for kb, row in by_budget.items()},
        "exceeded": exceeded,
        "random_inputs": N_RANDOM_INPUTS[options.size],
        "personas": len(personas),
        "questions": sum(len(block.questions) for persona in personas for block in persona.blocks),
    }
    rows = [
        [f"{kb} kB", *(f"{row[name][figure]:.3f}" for figure in ("hit_rate", "share") for name in methods)]
        for kb, row in by_budget.items()
    ]
    title = f"{result['questions']} questions; caps passed: {exceeded}, over {result['random_inputs']} random inputs too"
    columns = ("budget", *methods, *(f"share, {name}" for name in methods))
    report(title, columns, rows, result, as_json=options.json)


def _measure(persona: Persona, kept: Sequence[Shard], ask: Cached) -> tuple[int, float, float]:
    """Return the size of the bundle, the share of questions with a hit, and the share of hits."""
    data = bundle(persona, kept)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle.pdx"
        path.write_bytes(data)
        memory = Memory.open(path, trust=signer().root, encoder=ask, audience=persona.user)
    counts = [
        sum(block.preference in {match.preference for match in hit.matches} for hit in memory.query(question, _K))
        for block in persona.blocks
        for question in block.questions
    ]
    return len(data), statistics.mean(count > 0 for count in counts), statistics.mean(counts) / _K


def _ours(persona: Persona, packed: Sequence[Shard], cap: int) -> list[Shard]:
    ladders = [[rung for rung, _ in trim(shards.encode(each))] for each in packed]
    room = cap - _size(persona, [ladder[0].n_bytes for ladder in ladders])
    chosen = choose(ladders, room + sum(cost(ladder[0].n_bytes) for ladder in ladders))
    return [
        each.first(ladder[at].n_entries) for each, ladder, at in zip(packed, ladders, chosen, strict=True)
    ]


def _random(persona: Persona, packed: Sequence[Shard], cap: int) -> list[Shard]:
    rows = [(at, row) for at, each in enumerate(packed) for row in range(len(each.entries))]
    random.Random(_SEED).shuffle(rows)
    return _as_many_as_fit(persona, packed, rows, cap)


def _first_come(persona: Persona, packed: Sequence[Shard], cap: int) -> list[Shard]:
    return _as_many_as_fit(persona, packed, [(at, row) for at, each in enumerate(packed) for row in range(len(each.entries))], cap)


def _as_many_as_fit(persona: Persona, packed: Sequence[Shard], rows: list[tuple[int, int]], cap: int) -> list[Shard]:
    """Return the shards of the longest beginning of `rows` that the cap allows, to a hundredth of them."""
    def cut(n: int) -> list[Shard]:
        wanted: list[list[int]] = [[] for _ in packed]
        for at, row in rows[:n]:
            wanted[at].append(row)
        return [_only(each, sorted(own)) for each, own in zip(packed, wanted, strict=True)]

    fits, too_many = 0, len(rows) + 1
    while too_many - fits > max(1, len(rows) // 100):
        middle = (fits + too_many) // 2
        if _size(persona, [len(shards.encode(each)) for each in cut(middle)]) <= cap:
            fits = middle
        else:
            too_many = middle
    return cut(fits)


def _only(each: Shard, rows: list[int]) -> Shard:
    codes = each.codes[[0, *(1 + row for row in rows)]]
    return Shard(each.preference, each.encoder_id, tuple(each.entries[row] for row in rows), codes, each.step)


def _size(persona: Persona, sizes: Sequence[int]) -> int:
    manifest = Manifest(persona.user, encoder("int8").id, "benchmark", Scoring(), len(sizes))
    return signer().size(manifest, sizes, version=1)
