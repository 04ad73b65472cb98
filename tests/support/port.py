"""A reader written from docs/FORMAT.md alone, as a port in another language would be: nothing of prefdex is imported.

It shows that the page is enough. It checks what the page says about good files, not every refusal.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from typing import Any

import brotli
import msgpack
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Json = dict[str, Any]


def read(data: bytes, anchor: bytes, audience: str) -> Json:
    """Sections 2 to 7: verify a bundle, and return what is in it."""
    held = _unpack(data)
    assert list(held) == ["format", "roots", "targets", "files"]
    assert held["format"] == 1
    root = _newest_root(json.loads(anchor), held["roots"])
    targets = _canonical(held["targets"])
    _check(targets, root["signed"], "targets")
    signed = targets["signed"]
    assert (signed["x-prefdex"]["kind"], signed["x-prefdex"]["audience"]) == ("bundle", audience)
    assert set(held["files"]) == set(signed["targets"])
    for name, file in signed["targets"].items():
        content = held["files"][name]
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["length"], file["hashes"]["sha256"])
    manifest = _unpack(held["files"]["manifest"])
    assert manifest["audience"] == audience
    return {
        "version": signed["version"],
        "issued": signed["x-prefdex"]["issued"],
        "expires": min(signed["expires"], root["signed"]["expires"]),
        "root_version": root["signed"]["version"],
        "signed_by": [each["keyid"] for each in targets["signatures"]],
        "sha256": {name: file["hashes"]["sha256"] for name, file in signed["targets"].items()},
        "encoder": manifest["encoder"].hex(),
        "llm": manifest["llm"],
        "scoring": manifest["scoring"],
        "shards": [_shard(held["files"][f"s{number}"]) for number in range(manifest["n_shards"])],
    }


def apply(old: bytes, patch: bytes) -> bytes:
    """Section 9: put the new bundle together; `read` verifies it."""
    before, after = _unpack(old), _unpack(patch)
    held = [*before["files"].values(), *after["files"].values()]
    by_hash = {hashlib.sha256(data).hexdigest(): data for data in held}
    named = json.loads(after["targets"])["signed"]["targets"]
    files = {name: by_hash[named[name]["hashes"]["sha256"]] for name in sorted(named, key=lambda n: (len(n), n))}
    roots = before["roots"] + [root for root in after["roots"] if root not in before["roots"]]
    return msgpack.packb({"format": 1, "roots": roots, "targets": after["targets"], "files": files})


def search(bundle: Json, question: list[float], knobs: Json, k: int) -> tuple[int | None, list[Json]]:
    """Section 8: return the row of p*, and the hits."""
    vectors = [[_scaled(row, shard["step"]) for row in shard["codes"]] for shard in bundle["shards"]]
    cosines = [_dot(question, rows[0]) for rows in vectors]
    may_steer = [at for at, shard in enumerate(bundle["shards"]) if shard["entries"]]
    nearest, steered, tags = None, question, [0.0] * len(cosines)
    if max(cosines[at] for at in may_steer) >= knobs["gate"]:
        signal = {at: cosines[at] + knobs["evidence"] * _evidence(question, vectors[at][1:]) for at in may_steer}
        nearest = max(may_steer, key=lambda at: signal[at])
        weights = {at: math.exp(knobs["sharpness"] * (signal[at] - signal[nearest])) for at in may_steer}
        beliefs = {at: weight / sum(weights.values()) for at, weight in weights.items()}
        mixed = list(question)
        for at, belief in beliefs.items():
            for component, value in enumerate(vectors[at][0]):
                mixed[component] += knobs["preference_weight"] * belief * value
        length = math.sqrt(_dot(mixed, mixed))
        steered = [each / length for each in mixed]
        tags = [knobs["tag_weight"] * beliefs.get(at, 0.0) for at in range(len(cosines))]
    hits: dict[str, Json] = {}
    for shard, rows, tag in zip(bundle["shards"], vectors, tags, strict=True):
        for entry, row in zip(shard["entries"], rows[1:], strict=True):
            hit = hits.setdefault(entry["chunk_id"], {"score": -math.inf, "preferences": []})
            hit["score"] = max(hit["score"], _dot(steered, row) + tag)
            hit["preferences"].append(shard["preference"])
    best = sorted(hits.items(), key=lambda item: -item[1]["score"])[:k]
    return nearest, [{"chunk_id": chunk, **hit, "preferences": sorted(hit["preferences"])} for chunk, hit in best]


def _evidence(question: list[float], rows: list[list[float]]) -> float:
    best = sorted((_dot(question, row) for row in rows), reverse=True)[:5]
    return sum(best) / len(best)


def _unpack(data: bytes) -> Json:
    value = msgpack.unpackb(data)
    assert msgpack.packb(value) == data
    return value


def _canonical(data: bytes) -> Json:
    value = json.loads(data)
    assert json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode() == data
    return value


def _olpc(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{_olpc(key)}:{_olpc(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_olpc, value)) + "]"
    return json.dumps(value)


def _newest_root(trusted: Json, roots: list[bytes]) -> Json:
    _check(trusted, trusted["signed"], "root", every=False)
    for data in roots:
        root = _canonical(data)
        if root["signed"]["version"] == trusted["signed"]["version"] + 1:
            _check(root, trusted["signed"], "root", every=False)
            _check(root, root["signed"], "root", every=False)
            trusted = root
        else:
            assert root["signed"]["version"] <= trusted["signed"]["version"]
    return trusted


def _check(metadata: Json, delegator: Json, role: str, *, every: bool = True) -> None:
    signed, good = _olpc(metadata["signed"]).encode(), set()
    for each in metadata["signatures"]:
        if each["keyid"] in delegator["roles"][role]["keyids"]:
            public = bytes.fromhex(delegator["keys"][each["keyid"]]["keyval"]["public"])
            Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(each["sig"]), signed)
            good.add(each["keyid"])
    assert len(good) >= delegator["roles"][role]["threshold"] >= 1
    assert not every or len(good) == len(metadata["signatures"])


def _shard(data: bytes) -> Json:
    outer = _unpack(data)
    assert (outer["format"], outer["codec"]) == (1, "brotli")
    body = _unpack(brotli.decompress(outer["body"]))
    columns = ("texts", "titles", "sources", "instructions", "confidences", "similarities")
    return {
        "preference": body["preference"],
        "preference_id": _id("prefdex/preference/1", body["preference"]),
        "entries": [
            {
                "chunk_id": _id("prefdex/chunk/1", text),
                "text": text,
                "title": title,
                "source": source,
                "instruction": instruction,
                "confidence": confidence / 1_000,
                "similarity": similarity / 10_000,
            }
            for text, title, source, instruction, confidence, similarity in zip(
                *(body[name] for name in columns), strict=True
            )
        ],
        "codes": _codes(brotli.decompress(outer["codes"]), 1 + len(body["texts"]), body["dim"]),
        "step": body["step"],
    }


def _codes(data: bytes, n_rows: int, dim: int) -> list[list[int]]:
    assert len(data) == n_rows * dim
    rows: list[list[int]] = []
    sums = [0] * dim
    for i in range(n_rows):
        differences = data[i * dim : (i + 1) * dim]
        predictions = [(2 * s + i + 2) // (2 * i + 4) for s in sums]
        row = [(d + p + 128) % 256 - 128 for d, p in zip(differences, predictions, strict=True)]
        sums = [s + code for s, code in zip(sums, row, strict=True)]
        rows.append(row)
    return rows


def _id(*parts: str) -> str:
    data = b"".join(struct.pack(">Q", len(part.encode())) + part.encode() for part in parts)
    return hashlib.sha256(data).hexdigest()[:40]


def _scaled(codes: list[int], step: float) -> list[float]:
    return [code * step for code in codes]


def _dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))
