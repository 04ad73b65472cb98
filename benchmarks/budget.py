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
from typing import Any

import numpy as np

from harness import arguments, report
from material import corpus, encode, encoder, entries, make_shards, sign, signer
from prefdex_builder.bundling import Bundler
from prefdex_builder.config import BuildConfig
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_builder.preferences import User, make_user
from prefdex_builder.stages.trim import trim_stored
from prefdex_builder.workspace import ShardRecord, Workspace
from prefdex_client import Memory
from prefdex_shared import shard as shards
from prefdex_shared.encoder import HashingEncoder
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.ids import EncoderId
from prefdex_shared.packing import pack
from prefdex_shared.records import Entry, Preference
from prefdex_shared.shard import Shard
from prefdex_shared.vectors import Float32

N_DOCUMENTS = {"default": 2_000, "full": 4_000}
N_PERSONAS = {"default": 12, "full": 1_000}
N_RANDOM_INPUTS = {"default": 60, "full": 2_000}
KILOBYTES = (16, 24, 32, 48, 64, 128, 256, 1024)
_K = 5
_SEED = 0

Method = Callable[[Persona, Sequence[Shard], int], bytes]
Held = list[tuple[Persona, list[Shard]]]


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
    with tempfile.TemporaryDirectory() as folder:
        methods: dict[str, Method] = {
            "ours": Budgeted(Workspace.at(Path(folder)), encoder("int8").id),
            "random": _random,
            "first come": _first_come,
        }
        by_budget = {kb: _row(kb * 1024, methods, held, ask) for kb in KILOBYTES}
    exceeded = sum(row["exceeded"] for row in by_budget.values()) + _random_inputs(N_RANDOM_INPUTS[options.size])
    result = {
        "hit_rate": {kb: {name: round(row[name][0], 4) for name in methods} for kb, row in by_budget.items()},
        "share": {kb: {name: round(row[name][1], 4) for name in methods} for kb, row in by_budget.items()},
        "exceeded": exceeded,
        "random_inputs": N_RANDOM_INPUTS[options.size],
        "personas": len(personas),
        "questions": sum(len(block.questions) for persona in personas for block in persona.blocks),
    }
    rows = [
        [f"{kb} kB", *(f"{row[name][figure]:.3f}" for figure in (0, 1) for name in methods)]
        for kb, row in by_budget.items()
    ]
    title = (
        f"{result['questions']} questions; caps passed: {exceeded}, over {result['random_inputs']} random inputs too"
    )
    report(title, ("budget", *methods, *(f"share, {each}" for each in methods)), rows, result, as_json=options.json)


def _row(cap: int, methods: dict[str, Method], held: Held, ask: Cached) -> dict[str, Any]:
    """Return the two figures of each method, and how often the cap was passed."""
    row: dict[str, Any] = {"exceeded": 0}
    for name, method in methods.items():
        bundles = [(persona, method(persona, packed, cap)) for persona, packed in held]
        row["exceeded"] += sum(len(data) > cap for _, data in bundles)
        answers = [_ask(persona, data, ask) for persona, data in bundles]
        row[name] = [statistics.mean(each) for each in zip(*answers, strict=True)]
    return row


class Budgeted:
    """prefdex's own way, through the builder's workspace."""

    def __init__(self, workspace: Workspace, encoder_id: EncoderId) -> None:
        self._workspace, self._encoder_id = workspace, encoder_id

    def __call__(self, persona: Persona, packed: Sequence[Shard], cap: int) -> bytes:
        """Return the bundle of a persona."""
        return self.bundle(make_user(persona.user, persona.preferences), packed, cap)

    def bundle(self, user: User, packed: Sequence[Shard], cap: int) -> bytes:
        """Return the bundle of a user."""
        config = BuildConfig(max_bundle_bytes=cap)
        report = Bundler(self._workspace, signer(), self._encoder_id, "benchmark", config).give(
            user, [self._record(each) for each in packed]
        )
        return Path(report.path).read_bytes()

    def _record(self, each: Shard) -> ShardRecord:
        store, data, n = self._workspace.shards, shards.encode(each), len(each.entries)
        sha256 = store.put(data)
        if store.ladder(sha256) is None:
            trim_stored(store, sha256)
        return ShardRecord(sha256, len(data), n, n, 0, n, 0)


def _random_inputs(n: int) -> int:
    """Return how often a cap was passed over generated users, among them empty and refused ones."""
    chance, hashing, exceeded = random.Random(_SEED), HashingEncoder(), 0
    for number in range(n):
        with tempfile.TemporaryDirectory() as folder:
            texts = [f"preference {at} {'x' * chance.randrange(300)}" for at in range(chance.randrange(12))]
            packed = [shards.decode(pack(Preference(text), _entries(chance), hashing), "shard") for text in texts]
            cap = int(10 ** chance.uniform(2.5, 5))
            try:
                data = Budgeted(Workspace.at(Path(folder)), hashing.id).bundle(
                    make_user(f"u-{number}", texts), packed, cap
                )
            except ConfigurationError:
                continue
            exceeded += len(data) > cap
    return exceeded


def _entries(chance: random.Random) -> list[Entry]:
    def words() -> str:
        return "".join(
            chr(chance.choice((97, 228, 0x4E00)) + chance.randrange(26)) for _ in range(chance.randrange(1, 200))
        )

    return [
        Entry(f"{at} {words()}", words(), "", words(), chance.random(), chance.uniform(-1, 1))
        for at in range(chance.choice((0, 1, 5, 40)))
    ]


def _ask(persona: Persona, data: bytes, ask: Cached) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bundle.pdx"
        path.write_bytes(data)
        memory = Memory.open(path, trust=signer().root, encoder=ask, audience=persona.user)
    counts = [
        sum(block.preference in {match.preference for match in hit.matches} for hit in memory.query(question, _K))
        for block in persona.blocks
        for question in block.questions
    ]
    return statistics.mean(count > 0 for count in counts), statistics.mean(counts) / _K


def _random(persona: Persona, packed: Sequence[Shard], cap: int) -> bytes:
    rows = [(at, row) for at, each in enumerate(packed) for row in range(len(each.entries))]
    random.Random(_SEED).shuffle(rows)
    return _as_many_as_fit(persona, packed, rows, cap)


def _first_come(persona: Persona, packed: Sequence[Shard], cap: int) -> bytes:
    rows = [(at, row) for at, each in enumerate(packed) for row in range(len(each.entries))]
    return _as_many_as_fit(persona, packed, rows, cap)


def _as_many_as_fit(persona: Persona, packed: Sequence[Shard], rows: list[tuple[int, int]], cap: int) -> bytes:
    """Return a bundle of the longest beginning of `rows` that the cap allows, to a thirtieth of them."""
    encoded: dict[tuple[int, ...], bytes] = {}

    def cut(n: int) -> bytes:
        files = []
        for at, each in enumerate(packed):
            wanted = tuple(sorted(row for owner, row in rows[:n] if owner == at))
            key = (at, *wanted)
            if key not in encoded:
                encoded[key] = shards.encode(_only(each, wanted))
            files.append(encoded[key])
        return sign(persona, files)

    fits, too_many = 0, len(rows) + 1
    middle = len(rows)
    while too_many - fits > max(1, len(rows) // 30):
        if len(cut(middle)) <= cap:
            fits = middle
        else:
            too_many = middle
        middle = (fits + too_many) // 2
    return cut(fits)


def _only(each: Shard, rows: Sequence[int]) -> Shard:
    codes = each.codes[[0, *(1 + row for row in rows)]]
    return Shard(each.preference, each.encoder_id, tuple(each.entries[row] for row in rows), codes, each.step)


if __name__ == "__main__":
    main()
