"""Makes the golden files, from fixed keys and content: `python tests/golden/make.py` after a change of the format."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from prefdex_shared import container, patching, shard
from prefdex_shared.manifest import decode as decode_manifest
from support.bundles import AUDIENCE, CONTENT, Publisher, entry, parts

FOLDER = Path(__file__).parent
CHANGED = {**CONTENT, "I like tea": [entry("Coffee grows on hills too.", "A change from tea")]}


def make() -> dict[str, bytes]:
    """Return the golden files by name."""
    publisher = Publisher()
    first = publisher.bundle(CONTENT)
    publisher.rotate(targets=9)
    second = publisher.bundle(CHANGED, version=2)
    patch = container.encode(patching.make(parts(first), parts(second)))
    files = {"root.json": publisher.trust, "v1.pdx": first, "v2.pdx": second, "v1-to-v2.pdx": patch}
    decoded = {name: _decoded(data) for name, data in files.items() if name in {"v1.pdx", "v2.pdx"}}
    text = json.dumps({"audience": AUDIENCE, "bundles": decoded}, indent=1, ensure_ascii=False, sort_keys=True)
    return files | {"expected.json": (text + "\n").encode()}


def _decoded(data: bytes) -> dict[str, object]:
    held = parts(data)
    manifest = decode_manifest(held.files["manifest"])
    shards = [shard.decode(held.files[name], name) for name in manifest.shard_names]
    return {
        "encoder": manifest.encoder_id,
        "llm": manifest.llm,
        "roots": len(held.roots),
        "shards": [
            {
                "preference": each.preference.text,
                "entries": [
                    {
                        "chunk_id": held_entry.chunk_id,
                        "text": held_entry.text,
                        "title": held_entry.title,
                        "source": held_entry.source,
                        "instruction": held_entry.instruction,
                        "confidence": held_entry.confidence,
                        "similarity": held_entry.similarity,
                    }
                    for held_entry in each.entries
                ],
                "codes": each.codes.tolist(),
                "step": each.step,
            }
            for each in shards
        ],
    }


if __name__ == "__main__":
    for name, data in make().items():
        (FOLDER / name).write_bytes(data)
