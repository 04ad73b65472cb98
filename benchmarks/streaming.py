"""A device that documents come to, one at a time, while its person's preferences drift.

At each checkpoint two preferences are added, taken from other people, and one is forgotten. Ours keeps what matters,
within a budget that counts every file of the store, the window of recent documents included. The baseline stores every
chunk with its float32 vector, and searches all of them.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from harness import arguments, cpu_ms, report
from material import WHEELS, encoder, sign, signer
from prefdex_builder.demo.corpora import choose, wikibooks, wikipedia
from prefdex_builder.demo.personas import Block, Persona, read_personas
from prefdex_client import DeviceStore, Document, LocalConfig
from prefdex_shared.chunking import ChunkConfig, chunk

N_DOCUMENTS = {"default": 200, "full": 2_000}
N_PERSONAS = {"default": 2, "full": 6}
N_CHECKPOINTS = 5
CONFIG = LocalConfig(tau=0.25, max_store_bytes=60_000, max_window_bytes=25_000)
_N_FIRST = 4
_K = 5
_SEED = 0


@dataclass(slots=True)
class Everything:
    """The baseline: all chunks, with float32 vectors."""

    texts: list[str] = field(default_factory=list)
    vectors: list[np.ndarray] = field(default_factory=list)

    def add(self, document: Document) -> None:
        """Store a document's chunks."""
        loaded = encoder("int8")
        texts = chunk(document.text, ChunkConfig(max_tokens=loaded.max_tokens), loaded.count_tokens)
        self.texts += texts
        self.vectors += list(loaded.encode(texts))

    def own_share(self, question: str, preference: str) -> float:
        """Return the share of the five nearest chunks that are near the question's own preference."""
        asked, own = encoder("int8").encode([question, preference])
        matrix = np.array(self.vectors)
        best = np.argsort(-(matrix @ asked), kind="stable")[:_K]
        return float((matrix[best] @ own >= CONFIG.tau).sum()) / _K

    @property
    def n_bytes(self) -> int:
        """Size of texts and vectors."""
        return sum(len(text.encode()) for text in self.texts) + 4 * sum(map(len, self.vectors))


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    n = N_DOCUMENTS[options.size]
    rows = list(choose(wikipedia(WHEELS), wikibooks(WHEELS), n))
    random.Random(_SEED).shuffle(rows)
    documents = [Document(row["id"], row["title"], row["text"], row["source"]) for row in rows]
    personas = read_personas(options.personas)
    runs = [_run(persona, personas, documents) for persona in personas[: N_PERSONAS[options.size]]]
    checkpoints = [
        {name: round(statistics.mean(run[at][name] for run in runs), 4) for name in runs[0][at]}
        for at in range(N_CHECKPOINTS)
    ]
    result = {
        "checkpoints": checkpoints,
        "max_bytes_over_budget": max(max(0.0, each["most_bytes"] - CONFIG.max_store_bytes) for each in chain(*runs)),
        "max_store_bytes": CONFIG.max_store_bytes,
        "max_window_bytes": CONFIG.max_window_bytes,
        "documents": n,
        "personas": len(runs),
    }
    columns = (
        "documents",
        "preferences",
        "store bytes",
        "everything",
        "CPU ms a document",
        "everything",
        "own share",
        "everything",
    )
    names = ("documents", "preferences", "bytes", "bytes_everything", "ms", "ms_everything", "own", "own_everything")
    table = [[_shown(each[name]) for name in names] for each in checkpoints]
    over = result["max_bytes_over_budget"]
    title = f"{len(runs)} people; most bytes over the budget of {CONFIG.max_store_bytes:,}: {over}"
    report(title, columns, table, result, as_json=options.json)


def _run(persona: Persona, personas: list[Persona], documents: list[Document]) -> list[dict[str, float]]:
    """Stream the documents to one person's device; return figures by checkpoint."""
    rng = random.Random(persona.index)
    others = [block for each in personas if each is not persona for block in each.blocks]
    rng.shuffle(others)
    held, waiting = list(persona.blocks[:_N_FIRST]), list(others)
    everything, figures = Everything(), []
    with tempfile.TemporaryDirectory() as root:
        store = _store(Path(root), persona)
        for block in held:
            store.add_preference(block.preference, config=CONFIG)
        folder = Path(root) / "store"
        for part in np.array_split(np.arange(len(documents)), N_CHECKPOINTS):
            ours, theirs, most = [], [], 0
            for at in part:
                ours.append(cpu_ms(lambda: store.ingest([documents[at]], config=CONFIG)))  # noqa: B023 - called at once
                theirs.append(cpu_ms(lambda: everything.add(documents[at])))  # noqa: B023
                most = max(most, _n_bytes(folder))
            for block in (waiting.pop(), waiting.pop()):
                store.add_preference(block.preference, config=CONFIG)
                held.append(block)
            store.forget(held.pop(rng.randrange(len(held))).preference)
            own, own_everything = _shares(store, everything, held)
            figures.append(
                {
                    "documents": float(part[-1] + 1),
                    "preferences": float(len(held)),
                    "bytes": float(_n_bytes(folder)),
                    "most_bytes": float(max(most, _n_bytes(folder))),
                    "bytes_everything": float(everything.n_bytes),
                    "ms": statistics.median(ours),
                    "ms_everything": statistics.median(theirs),
                    "own": own,
                    "own_everything": own_everything,
                }
            )
    return figures


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def _store(root: Path, persona: Persona) -> DeviceStore:
    (root / "empty.pdx").write_bytes(sign(persona, []))
    store = DeviceStore.open(root / "store", trust=signer().root, audience=persona.user, encoder=encoder("int8"))
    store.apply(root / "empty.pdx")
    return store


def _shares(store: DeviceStore, everything: Everything, held: list[Block]) -> tuple[float, float]:
    memory = store.memory()
    ours, theirs = [], []
    for block in held:
        for question in block.questions[:2]:
            hits = memory.query(question, _K)
            ours.append(sum(block.preference in hit.preferences for hit in hits) / _K)
            theirs.append(everything.own_share(question, block.preference))
    return statistics.mean(ours), statistics.mean(theirs)


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
