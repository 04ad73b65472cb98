"""Size of a whole signed bundle against the paper's published index and JSONL for the same entries.

Instructions quote nothing, so that compression cannot live off quotes; the figure with `extractive:` stands beside it.
Recall is the share of the float32 top 5 that the int8 codes find, over the same entries and questions.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

import numpy as np

from harness import arguments, report
from material import bundle, corpus, encode, encoder, entries, make_shards
from prefdex_builder.demo.personas import Persona, read_personas
from prefdex_builder.demo.run import FILTERING
from prefdex_shared import container, wire
from prefdex_shared import shard as shards
from prefdex_shared.codes import dequantize, quantize
from prefdex_shared.extractive import ExtractiveLLM
from prefdex_shared.records import Chunk, Entry, Failure, Pair, Preference
from prefdex_shared.shard import MAX_BODY_BYTES, MAX_BODY_ITEMS, MAX_SHARD_BYTES, Shard
from prefdex_shared.trust import MANIFEST_FILE
from prefdex_shared.vectors import Float32
from prefdex_shared.writing import write
from reference import ReferenceMemory

N_DOCUMENTS = {"default": 2_000, "full": 4_000}
N_PERSONAS = {"default": 12, "full": 1_000}
N_EXTRACTIVE = {"default": 2, "full": 20}
_K = 5
_REASON_WORDS = 15
_OUTER = ("format", "codec", "body", "codes")

Held = list[tuple[Preference, list[Entry]]]


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    source = corpus(N_DOCUMENTS[options.size])
    personas = read_personas(options.personas)[: N_PERSONAS[options.size]]
    plain = [_measure(persona, entries(persona, source)) for persona in personas]
    quoting = personas[: N_EXTRACTIVE[options.size]]
    extractive = [_measure(persona, _quoting(entries(persona, source))) for persona in quoting]
    questions = [question for persona in personas for block in persona.blocks for question in block.questions]
    texts_recall = _recall(source.vectors, dequantize(*quantize(source.vectors)), encode(questions))
    sums = {name: sum(each[name] for each in plain) for name in plain[0]}
    result = {
        "ratio_vs_reference": round(sums["bundle"] / sums["reference"], 4),
        "ratio_vs_reference_extractive": round(_ratio(extractive), 4),
        "recall_at_5_vs_float32": round(statistics.mean(each["recall"] for each in plain), 4),
        "recall_at_5_vs_float32_all_texts": round(texts_recall, 4),
        "bundle_bytes": round(sums["bundle"] / len(personas)),
        "reference_bytes": round(sums["reference"] / len(personas)),
        "parts": {name: round(sums[name] / sums["bundle"], 4) for name in _PARTS},
        "personas": len(personas),
        "entries_per_persona": round(sums["entries"] / len(personas), 1),
        "chunks": len(source.chunks),
        "tau": FILTERING.tau,
        "max_candidates": FILTERING.max_candidates,
    }
    rows = [["reference: index + JSONL", f"{sums['reference'] / len(personas):,.0f}", "1.000"]]
    rows += [["our bundle", f"{sums['bundle'] / len(personas):,.0f}", f"{result['ratio_vs_reference']:.3f}"]]
    rows += [
        [f"  {name}", f"{sums[name] / len(personas):,.0f}", f"{sums[name] / sums['reference']:.3f}"] for name in _PARTS
    ]
    title = f"bytes per persona, {result['entries_per_persona']} entries, recall@5 {result['recall_at_5_vs_float32']}"
    report(title, ("what", "bytes", "of the reference"), rows, result, as_json=options.json)


_PARTS = ("vectors", "texts", "instructions", "metadata", "signatures")


def _measure(persona: Persona, held: Held) -> dict[str, float]:
    packed = make_shards(held)
    data = bundle(persona, packed)
    reference = _reference(held, packed)
    return {
        "bundle": len(data),
        "reference": reference.n_bytes,
        "entries": sum(len(each) for _, each in held),
        "recall": _bundle_recall(persona, packed),
        **_parts(data),
    }


def _parts(data: bytes) -> dict[str, float]:
    """Split a bundle: instructions are what a shard's text shrinks by without them."""
    held = container.decode(data)
    sums = dict.fromkeys(_PARTS, 0)
    for name in set(held.files) - {MANIFEST_FILE}:
        outer = wire.Fields(wire.unpack(held.files[name], name, MAX_SHARD_BYTES), name, _OUTER)
        compressed = outer.data("body", MAX_SHARD_BYTES)
        body = wire.unpack(wire.decompress(compressed, name, MAX_BODY_BYTES), name, MAX_BODY_BYTES, MAX_BODY_ITEMS)
        texts = len(wire.compress(wire.pack(body | {"instructions": []})))  # type: ignore[operator]
        sums["vectors"] += len(outer.data("codes", MAX_SHARD_BYTES))
        sums["texts"] += texts
        sums["instructions"] += len(compressed) - texts
    signed = [json.loads(each) for each in (held.targets, *held.roots)]
    sums["signatures"] = sum(len(json.dumps(each["signatures"], separators=(",", ":"))) for each in signed)
    sums["metadata"] = len(data) - sum(sums.values())
    return {name: float(number) for name, number in sums.items()}


def _reference(held: Held, packed: Sequence[Shard]) -> ReferenceMemory:
    # A reason as short as an instruction's first words: the published ones are longer.
    reasons = {entry.text: " ".join(entry.instruction.split()[:_REASON_WORDS]) for _, each in held for entry in each}
    reference = ReferenceMemory(held, reasons, encoder("int8"))
    reference.fill(np.zeros((len(reference.rows), packed[0].dim), np.float32))
    return reference


def _bundle_recall(persona: Persona, packed: Sequence[Shard]) -> float:
    instructions = [entry.instruction for shard in packed for entry in shard.entries]
    if len(instructions) <= _K:
        return 1.0
    questions = encode([question for block in persona.blocks for question in block.questions])
    decoded = np.vstack([shards.decode(shards.encode(shard), "shard").vectors for shard in packed])
    return _recall(encode(instructions), decoded, questions)


def _recall(exact: Float32, decoded: Float32, questions: Float32) -> float:
    found = [np.argsort(-(questions @ vectors.T), axis=1, kind="stable")[:, :_K] for vectors in (exact, decoded)]
    return float(np.mean([len(set(a) & set(b)) / _K for a, b in zip(*found, strict=True)]))


def _quoting(held: Held) -> Held:
    llm = ExtractiveLLM(encoder("int8"), FILTERING.tau)
    return [(preference, _quote(preference, each, llm)) for preference, each in held]


def _quote(preference: Preference, each: list[Entry], llm: ExtractiveLLM) -> list[Entry]:
    pairs = [Pair(Chunk(entry.text, entry.title, entry.source), preference, entry.similarity) for entry in each]
    return [
        Entry(entry.text, entry.title, entry.source, instruction, entry.confidence, entry.similarity)
        for entry, instruction in zip(each, write(pairs, llm), strict=True)
        if not isinstance(instruction, Failure)
    ]


def _ratio(measured: Sequence[dict[str, float]]) -> float:
    return sum(each["bundle"] for each in measured) / sum(each["reference"] for each in measured)


if __name__ == "__main__":
    main()
