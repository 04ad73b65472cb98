"""The coarse filter over all people of a file at once: time and memory, beside the published loop and a bare product.

Chunks are real embeddings, tiled, with noise added to each. The filter runs block by block, on one thread; each of its
blocks is timed beside a plain float32 matrix product of the same size, and what is compared is the sum. Memory is the
peak of a process of its own, for each number of chunks.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness import arguments, cpu_ms, on_one_thread, report
from material import FILTERING, corpus, encode
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_shared.filtering import SimilarityJoin
from prefdex_shared.vectors import Float16, Float32, normalize, store, widen

N_CHUNKS = {"default": (20_000, 100_000), "full": (100_000, 1_000_000)}
N_RUNS = 3
_N_DOCUMENTS = 2_000
_CHUNKS_PER_BLOCK = 20_000
_NOISE = 0.01
_BATCH = 16


def main() -> None:
    """Run the benchmark."""
    on_one_thread()
    options = arguments(__doc__, lambda parser: parser.add_argument("--chunks", type=int, help="only these, in here"))
    personas = read_personas(options.personas)
    if options.chunks:
        print(json.dumps(_measure(personas, options.chunks)))
        return
    small, large = N_CHUNKS[options.size]
    few = [_apart(options.personas, small) for _ in range(N_RUNS)]
    many = _apart(options.personas, large)
    reference = _reference(personas, small)
    result = {
        "ratio_vs_reference": round(reference / statistics.median(each["join_ms"] for each in few), 2),
        "ratio_of_sgemm": round(many["sgemm_ms"] / many["join_ms"], 3),
        "ratio_of_sgemm_few": round(statistics.median(each["sgemm_ms"] / each["join_ms"] for each in few), 3),
        "memory_growth": round(many["peak_mb"] / statistics.median(each["peak_mb"] for each in few), 3),
        "chunks": [small, large],
        "preferences": few[0]["preferences"],
        "candidates": [few[0]["candidates"], many["candidates"]],
    }
    rows = [
        [f"{n:,}", *(f"{each[name]:,.0f}" for name in ("join_ms", "sgemm_ms", "peak_mb", "candidates"))]
        for n, each in ((small, few[0]), (large, many))
    ]
    rows[0].append(f"{reference:,.0f}")
    rows[1].append("")
    columns = ("chunks", "filter, CPU ms", "product, CPU ms", "peak MB", "candidates", "reference, CPU ms")
    title = f"{len(personas)} people, {result['preferences']} preferences"
    report(title, columns, rows, result, as_json=options.json)


def _apart(personas: Path, n: int) -> dict[str, float]:
    """Measure in a process of its own, whose peak of memory is that of this work."""
    command = [sys.executable, __file__, "--personas", str(personas), "--chunks", str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _measure(personas: list[Persona], n: int) -> dict[str, float]:
    preferences = _preferences([text for persona in personas for text in persona.preferences])
    wide = widen(preferences)
    join = SimilarityJoin(preferences, FILTERING)
    join_ms = sgemm_ms = 0.0
    for ids, block in _blocks(n):
        join_ms += cpu_ms(lambda: join.add(ids, block))  # noqa: B023 - called at once
        wide_block = widen(block)
        sgemm_ms += cpu_ms(lambda: wide_block @ wide.T)  # noqa: B023 - called at once
    found = []
    join_ms += cpu_ms(lambda: found.append(join.candidates()))
    return {
        "join_ms": join_ms,
        "sgemm_ms": sgemm_ms,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "candidates": len(found[0]),
        "preferences": len(preferences),
    }


def _preferences(texts: list[str]) -> Float16:
    return store(encode(list(dict.fromkeys(texts))))


def _blocks(n: int) -> Iterator[tuple[np.ndarray, Float16]]:
    """Yield ids that look like hashes, and tiled embeddings with noise."""
    rng = np.random.default_rng(0)
    source = corpus(_N_DOCUMENTS).vectors
    for start in range(0, n, _CHUNKS_PER_BLOCK):
        rows = np.arange(start, min(start + _CHUNKS_PER_BLOCK, n)) % len(source)
        noise = rng.standard_normal((len(rows), source.shape[1]), dtype=np.float32)
        ids = np.char.mod("%016x", rng.integers(0, 2**62, (len(rows), 4))).view("U64")[:, 0].astype("S64")
        yield ids, store(normalize(source[rows] + _NOISE * noise))


def _reference(personas: list[Persona], n: int) -> float:
    """Return the CPU time of the published way: person by person, 16 chunks at a time, a loop over each batch."""
    blocks = [widen(block) for _, block in _blocks(n)]
    vectors: Float32 = np.concatenate(blocks)
    texts = [str(number) for number in range(n)]
    wanted = [widen(_preferences(list(persona.preferences))) for persona in personas]
    return cpu_ms(lambda: [_loop(vectors, texts, preferences) for preferences in wanted])


def _loop(vectors: Float32, texts: list[str], preferences: Float32) -> list[dict[str, object]]:
    kept = []
    for start in range(0, len(vectors), _BATCH):
        batch = vectors[start : start + _BATCH]
        is_near = np.dot(preferences, batch.T) > FILTERING.tau
        for number in range(len(batch)):
            if matching := np.flatnonzero(is_near[:, number]).tolist():
                kept.append({"text": texts[start + number], "preferences": matching})
    return kept


if __name__ == "__main__":
    main()
