"""Makes the golden files, from fixed keys and content: `python tests/golden/make.py` after a change of the format.

Three versions of one user's bundle, the targets key replaced before the second and the root key before the third, and
the patches between them. `expected.json` says what a reader must find in each, and what a search must answer; a port
needs these files and docs/FORMAT.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from prefdex_shared import container, patching, shard
from prefdex_shared.manifest import Manifest
from prefdex_shared.manifest import decode as decode_manifest
from prefdex_shared.shard import Shard
from prefdex_shared.steering import PAPER, Evidence, Scoring, steer
from prefdex_shared.trust import verify_whole
from support.bundles import AUDIENCE, CONTENT, ENCODER, Publisher, entry, parts

FOLDER = Path(__file__).parent
SECOND = {**CONTENT, "I like tea": [entry("Coffee grows on hills too.", "A change from tea")]}
THIRD = {
    "I like tea": SECOND["I like tea"],
    "Ich mag Züge, 電車も好き": [entry("Züge fahren auf Schienen. 🚆", "Was Züge angeht", confidence=0.9)],
    **{name: SECOND[name] for name in ("I like trains",)},
}
QUESTIONS = ("who likes tea", "which trains run", "xyzzy")
SCORINGS = {
    "the bundle's own": None,
    "unsteered": Scoring(0.0, 0.0, -1.0),
    "gated": Scoring(1.0, 1.0, 0.99),
    "the paper's": PAPER,
    "all knobs": Scoring(0.5, 2.0, -1.0, 3.0, 0.9),
}
_K = 3
_DIGITS = 5


def make() -> dict[str, bytes]:
    """Return the golden files by name."""
    publisher = Publisher()
    bundles = {"v1": publisher.bundle(CONTENT)}
    publisher.rotate(targets=9)
    bundles["v2"] = publisher.bundle(SECOND, version=2)
    publisher.rotate(targets=10, root=11)
    bundles["v3"] = publisher.bundle(THIRD, version=3)
    patches = {
        f"{old}-to-{new}": container.encode(patching.make(parts(bundles[old]), parts(bundles[new])))
        for old, new in (("v1", "v2"), ("v2", "v3"), ("v1", "v3"))
    }
    expected = {
        "audience": AUDIENCE,
        "bundles": {name: _bundle(data, publisher.trust) for name, data in bundles.items()},
        "patches": {name: _patch(data) for name, data in patches.items()},
        "searches": [
            _search(name, bundles[name], question, knobs)
            for name in ("v1", "v3")
            for question in QUESTIONS
            for knobs in SCORINGS
        ],
    }
    text = json.dumps(expected, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    named = {f"{name}.pdx": data for name, data in (bundles | patches).items()}
    return {"root.json": publisher.trust, **named, "expected.json": text.encode()}


def _bundle(data: bytes, trust: bytes) -> dict[str, object]:
    verified, manifest = verify_whole(parts(data), trust=trust, audience=AUDIENCE)
    return {
        "version": verified.version,
        "issued": f"{verified.issued:%Y-%m-%dT%H:%M:%SZ}",
        "expires": f"{verified.expires:%Y-%m-%dT%H:%M:%SZ}",
        "root_version": verified.root_version,
        "signed_by": verified.key_ids,
        "sha256": dict(verified.hashes),
        "encoder": manifest.encoder_id,
        "llm": manifest.llm,
        "scoring": _knobs(manifest.scoring),
        "shards": [_shard(each) for each in _shards(data)],
    }


def _shards(data: bytes) -> list[Shard]:
    held = parts(data)
    return [shard.decode(held.files[name], name) for name in _manifest(data).shard_names]


def _manifest(data: bytes) -> Manifest:
    return decode_manifest(parts(data).files["manifest"])


def _shard(each: Shard) -> dict[str, object]:
    names = ("chunk_id", "text", "title", "source", "instruction", "confidence", "similarity")
    return {
        "preference": each.preference.text,
        "preference_id": each.preference.id,
        "entries": [{name: getattr(held, name) for name in names} for held in each.entries],
        "codes": each.codes.tolist(),
        "step": each.step,
    }


def _patch(data: bytes) -> dict[str, object]:
    held = parts(data)
    return {"files": sorted(held.files), "n_roots": len(held.roots)}


def _search(name: str, data: bytes, question: str, knobs: str) -> dict[str, object]:
    """Search by the definition, in float64, without an index."""
    held = _shards(data)
    scoring = SCORINGS[knobs] or _manifest(data).scoring
    vector = ENCODER.encode([question])[0]
    preferences = np.array([each.preference_vector for each in held])
    counts = [len(each.entries) for each in held]
    similarities = np.concatenate([each.vectors @ vector for each in held])
    steered = steer(vector, preferences, np.array(counts) > 0, scoring, Evidence(counts), similarities)
    best: dict[str, tuple[float, list[str]]] = {}
    for tag, each in enumerate(held):
        scores = each.vectors.astype(np.float64) @ steered.vector + float(steered.tag_scores[tag])
        for row, score in zip(each.entries, scores, strict=True):
            known, texts = best.get(row.chunk_id, (-np.inf, []))
            best[row.chunk_id] = (max(known, float(score)), [*texts, each.preference.text])
    hits = sorted(best.items(), key=lambda item: -item[1][0])[:_K]
    return {
        "bundle": name,
        "question": question,
        "vector": [float(component) for component in vector],
        "scoring": _knobs(scoring),
        "preference": steered.preference,
        "similarity": None if steered.similarity is None else round(steered.similarity, _DIGITS),
        "hits": [
            {"chunk_id": chunk_id, "score": round(score, _DIGITS), "preferences": sorted(texts)}
            for chunk_id, (score, texts) in hits
        ],
    }


def _knobs(scoring: Scoring) -> dict[str, float]:
    return {name: getattr(scoring, name) for name in scoring.__slots__}


if __name__ == "__main__":
    for name, data in make().items():
        (FOLDER / name).write_bytes(data)
