"""Time of one query: ours, the paper's published way, and the bare encoder, in one process on one thread.

All three use the same fp32 ONNX encoder over the same entries. Times are CPU times of this process, paired question by
question.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import faiss
import numpy as np

from harness import arguments, cpu_ms, median_ratio, report
from material import bundle, corpus, encode, encoder, entries, make_shards, signer
from prefdex_builder.demo.personas import read_personas
from prefdex_client import Memory
from reference import ReferenceMemory

N_DOCUMENTS = {"default": 1_000, "full": 4_000}
N_QUESTIONS = {"default": 60, "full": 600}
_PRECISION = "fp32"
_WARM_UP = 5


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    faiss.omp_set_num_threads(1)
    source = corpus(N_DOCUMENTS[options.size])
    personas = [persona for persona in read_personas(options.personas) if len(persona.blocks) >= 10]
    loaded = encoder(_PRECISION)
    ours, theirs, bare = [], [], []
    n_entries = []
    for persona in personas:
        if len(ours) >= N_QUESTIONS[options.size]:
            break
        held = entries(persona, source)
        n_entries.append(sum(len(each) for _, each in held))
        reasons = {entry.text: entry.instruction for _, each in held for entry in each}
        reference = ReferenceMemory(held, reasons, loaded)
        reference.fill(_reference_vectors(reference))
        memory = _memory(bundle(persona, make_shards(held, _PRECISION), precision=_PRECISION), persona.user)
        questions = [question for block in persona.blocks for question in block.questions]
        for question in questions[:_WARM_UP]:
            memory.query(question), reference.query(question)
        for question in questions:
            bare.append(cpu_ms(lambda: loaded._encode_one(question)))  # noqa: B023 - called at once
            ours.append(cpu_ms(lambda: memory.query(question)))  # noqa: B023
            theirs.append(cpu_ms(lambda: reference.query(question)))  # noqa: B023
    result = {
        "ratio_vs_reference": round(median_ratio(theirs, ours), 2),
        "ratio_vs_bare_encoder": round(statistics.median(ours) / statistics.median(bare), 3),
        "p50_ms": {
            name: round(statistics.median(each), 3) for name, each in zip(_NAMES, (ours, theirs, bare), strict=True)
        },
        "questions": len(ours),
        "entries_per_persona": round(statistics.mean(n_entries), 1),
        "personas": len(n_entries),
    }
    rows = [
        [name, f"{statistics.median(each):.2f}", f"{np.percentile(each, 95):.2f}", f"{median_ratio(each, ours):.2f}"]
        for name, each in zip(_NAMES, (ours, theirs, bare), strict=True)
    ]
    columns = ("query", "p50 CPU ms", "p95 CPU ms", "times ours")
    report(f"{len(ours)} questions, fp32 encoder, one thread", columns, rows, result, as_json=options.json)


_NAMES = ("ours", "reference", "bare encoder")


def _reference_vectors(reference: ReferenceMemory) -> np.ndarray:
    return encode([str(row["instruction"]) for row in reference.rows], _PRECISION)


def _memory(data: bytes, user: str) -> Memory:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "user.pdx"
        file.write_bytes(data)
        return Memory.open(file, trust=signer().root, encoder=encoder(_PRECISION), audience=user)


if __name__ == "__main__":
    main()
