"""Which compression the shard takes: the same shards by several codecs, with and without a trained dictionary.

The dictionary of 32 kB is trained by zstandard on documents of the demo's corpus that come after all that is measured.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

import zstandard

from harness import arguments, report
from material import WHEELS, corpus, entries, make_shards
from prefdex_builder.demo.corpora import choose, wikibooks, wikipedia
from prefdex_builder.demo.personas import read_personas
from prefdex_shared import shard as shards
from prefdex_shared import wire
from prefdex_shared.codes import to_bytes

N_DOCUMENTS = {"default": 2_000, "full": 4_000}
N_PERSONAS = {"default": 12, "full": 1_000}
_DICTIONARY_BYTES = 32 << 10
_TRAINING_CHARACTERS = 2_000

Codec = Callable[[bytes], bytes]


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    source = corpus(N_DOCUMENTS[options.size])
    personas = read_personas(options.personas)[: N_PERSONAS[options.size]]
    packed = [shard for persona in personas for shard in make_shards(entries(persona, source))]
    bodies = [_body(shards.encode(each)) for each in packed]
    codes = [to_bytes(each.codes) for each in packed]
    ratios = {
        name: {"body": round(_share(codec, bodies), 4), "codes": round(_share(codec, codes), 4)}
        for name, codec in _codecs(_dictionary(max(N_DOCUMENTS.values()))).items()
    }
    rows = [[name, f"{each['body']:.3f}", f"{each['codes']:.3f}"] for name, each in ratios.items()]
    result = {"compressed_share": ratios, "shards": len(packed), "body_bytes": sum(map(len, bodies))}
    title = f"compressed over raw bytes, {len(packed)} shards, each by itself"
    report(title, ("codec", "preferences, texts, instructions", "codes"), rows, result, as_json=options.json)


def _body(data: bytes) -> bytes:
    outer = wire.unpack(data, "shard", shards.MAX_SHARD_BYTES)
    return wire.decompress(outer["body"], "shard", shards.MAX_BODY_BYTES)  # type: ignore[index]


def _share(codec: Codec, parts: list[bytes]) -> float:
    return sum(len(codec(part)) for part in parts) / sum(map(len, parts))


def _dictionary(n_measured: int) -> bytes:
    """Train on documents that no benchmark measures."""
    pages, recipes = wikipedia(WHEELS), wikibooks(WHEELS)
    measured = {document["id"] for document in choose(pages, recipes, n_measured)}
    others = [document for document in pages + recipes if document["id"] not in measured]
    # The trainer takes its samples as they come, and does better where both kinds are mixed.
    random.Random(0).shuffle(others)
    samples = [f"{document['title']}\n{document['text'][:_TRAINING_CHARACTERS]}".encode() for document in others]
    return zstandard.train_dictionary(_DICTIONARY_BYTES, samples, level=19).as_bytes()


def _codecs(dictionary: bytes) -> dict[str, Codec]:
    trained = zstandard.ZstdCompressionDict(dictionary)
    trained.precompute_compress(level=19)
    plain = zstandard.ZstdCompressor(level=19, write_content_size=False)
    with_trained = zstandard.ZstdCompressor(level=19, dict_data=trained, write_content_size=False)
    return {
        "deflate -9": _deflate,
        "deflate -9, trained dictionary": lambda data: _deflate(data, dictionary),
        "zstd -19": plain.compress,
        "zstd -19, trained dictionary": with_trained.compress,
        "brotli -11 (ours)": wire.compress,
    }


def _deflate(data: bytes, dictionary: bytes | None = None) -> bytes:
    settings = (9, zlib.DEFLATED, -zlib.MAX_WBITS, 9, zlib.Z_DEFAULT_STRATEGY)
    compressor = zlib.compressobj(*settings, dictionary) if dictionary else zlib.compressobj(*settings)
    return compressor.compress(data) + compressor.flush()


if __name__ == "__main__":
    main()
