"""The shards that are made on this device: what ingesting and re-scanning make of the store's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prefdex_shared import shard as shards
from prefdex_shared.chunking import ChunkConfig, chunk
from prefdex_shared.encoder import Encoder
from prefdex_shared.ids import one_line, sha256_hex
from prefdex_shared.records import Chunk, Document, Entry, Preference
from prefdex_shared.shard import MAX_SOURCE_CHARACTERS, MAX_TITLE_CHARACTERS, Shard
from prefdex_shared.vectors import Float16, store

from ..local import evicting, window
from ..local.config import IngestReport, LocalConfig
from ..local.evicting import Encoded
from ..local.llms import LocalLLM, open_llm
from ..local.matching import Matches, match
from ..local.window import WindowChunk
from . import state
from .planning import Plan
from .reading import StoreReader
from .state import MAX_WINDOW_CHUNKS, State


class LocalShards:
    """The local shards and the window of one state.

    Args:
        reader: Reads the store.
        now: The state.
        encoder: Encodes chunks, preferences and instructions.
        signed: The signed shards of the current version, without what is forgotten.
        vectors: Vectors of preferences that were encoded before; it is kept up to date.
    """

    def __init__(
        self,
        reader: StoreReader,
        now: State,
        encoder: Encoder,
        signed: Sequence[Shard],
        vectors: dict[Preference, Float16],
    ) -> None:
        self._now, self._encoder, self._signed, self._known_vectors = now, encoder, signed, vectors
        self._held = {tag: _read(reader.local(digest)) for tag, digest in now.local.items()}
        self._window = {digest: reader.local(digest) for digest in now.window}
        # What is signed stays as it is; what is local gets the rest of the budget.
        local = sum(len(each.data) for each in self._held.values()) + sum(map(len, self._window.values()))
        self._fixed_bytes = reader.n_bytes() - len(state.encode(now)) - local

    def ingest(self, documents: Sequence[Document], llm: LocalLLM, config: LocalConfig) -> tuple[Plan, IngestReport]:
        """Return the plan that takes in documents."""
        new = self._chunks(documents)
        texts = [Preference(text) for text in self._now.added]
        preferences = list(dict.fromkeys([*(shard.preference for shard in self._signed), *texts]))
        matches = self._match(new, preferences, llm, config)
        plan, evicted = self._plan(new, matches, config)
        counts = (len(documents), len(new), matches.candidates, matches.kept, matches.failed, evicted, 0)
        return plan, IngestReport(*counts)

    def rescan(self, preference: Preference, llm: LocalLLM, config: LocalConfig) -> Plan:
        """Return the plan that matches a preference with the chunks of the window."""
        recent = [window.decode(data) for data in self._window.values()]
        return self._plan([], self._match(recent, [preference], llm, config), config)[0]

    def _chunks(self, documents: Sequence[Document]) -> list[WindowChunk]:
        known = {window.decode(data).chunk.text for data in self._window.values()}
        config = ChunkConfig(max_tokens=self._encoder.max_tokens)
        chunks: dict[str, Chunk] = {}
        for document in documents:
            title = one_line(document.title)[:MAX_TITLE_CHARACTERS]
            source = one_line(document.source)[:MAX_SOURCE_CHARACTERS]
            for text in chunk(document.text, config, self._encoder.count_tokens):
                if text not in known:
                    chunks.setdefault(text, Chunk(text, title, source))
        vectors = store(self._encoder.encode(list(chunks)))
        return [WindowChunk(each, vector) for each, vector in zip(chunks.values(), vectors, strict=True)]

    def _match(
        self, chunks: Sequence[WindowChunk], preferences: Sequence[Preference], llm: LocalLLM, config: LocalConfig
    ) -> Matches:
        engine = open_llm(llm, self._encoder, config.tau)
        if not chunks:
            return Matches({}, 0, 0)
        known: dict[Preference, set[str]] = {}
        for shard in (*self._signed, *(each.shard for each in self._held.values())):
            known.setdefault(shard.preference, set()).update(entry.text for entry in shard.entries)
        return match(chunks, self._vectors(preferences), known, engine, config.tau)

    def _vectors(self, preferences: Sequence[Preference]) -> dict[Preference, Float16]:
        new = [preference for preference in preferences if preference not in self._known_vectors]
        vectors = store(self._encoder.encode([preference.text for preference in new]))
        found = self._known_vectors | dict(zip(new, vectors, strict=True))
        self._known_vectors.clear()
        self._known_vectors.update({preference: found[preference] for preference in preferences})
        return dict(self._known_vectors)

    def _plan(self, new: Sequence[WindowChunk], matches: Matches, config: LocalConfig) -> tuple[Plan, int]:
        held = dict(self._held)
        for preference, entries in matches.entries.items():
            tag = self._now.tag(preference.text)
            held[tag] = evicting.encode(self._extended(held.get(tag), preference, entries))
        recent = self._window | {sha256_hex(data): data for data in map(window.encode, new)}
        recent = _newest(recent, config.max_window_bytes)
        fits, evicted = evicting.evict(held, lambda left: self._room(left, recent, config))
        while recent and self._room(fits, recent, config) < 0:
            # Not even the window fits beside what is signed.
            recent = _newest(recent, sum(map(len, recent.values())) - 1)
        after = self._after(fits, recent)
        return Plan(after, {sha256_hex(each.data): each.data for each in fits.values()} | recent), evicted

    def _extended(self, held: Encoded | None, preference: Preference, entries: Sequence[Entry]) -> Shard:
        vectors = self._encoder.encode([entry.instruction for entry in entries])
        if held is not None:
            return shards.extend(held.shard, list(entries), vectors)
        vector = self._encoder.encode([preference.text])[0]
        return shards.pack(preference, self._encoder.id, list(entries), vector, vectors)

    def _after(self, held: Mapping[str, Encoded], recent: Mapping[str, bytes]) -> State:
        local = {tag: sha256_hex(each.data) for tag, each in held.items()}
        return replace(self._now, local=local, window=tuple(recent))

    def _room(self, held: Mapping[str, Encoded], recent: Mapping[str, bytes], config: LocalConfig) -> int:
        local = sum(len(each.data) for each in held.values()) + sum(map(len, recent.values()))
        return config.max_store_bytes - self._fixed_bytes - local - len(state.encode(self._after(held, recent)))


def _read(data: bytes) -> Encoded:
    return Encoded(shards.decode(data, "local"), data)


def _newest(recent: Mapping[str, bytes], max_bytes: int) -> dict[str, bytes]:
    """Return the newest chunks that fit, the oldest first."""
    kept: dict[str, bytes] = {}
    n_bytes = 0
    for digest, data in reversed(list(recent.items())):
        n_bytes += len(data)
        if n_bytes > max_bytes or len(kept) == MAX_WINDOW_CHUNKS:
            break
        kept[digest] = data
    return dict(reversed(kept.items()))
