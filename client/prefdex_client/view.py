"""What a memory answers from at one moment: shards with their index. Immutable, so that threads may share it.

The tag term of steering depends on an entry only through its preference. So each vector gets one more component per
preference, 1 for its own: the inner product with (q~, tag scores) is then the whole score, and one exact search ranks
all entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prefdex_shared.ids import ChunkId, chunk_id
from prefdex_shared.records import Entry, Preference
from prefdex_shared.shard import Shard
from prefdex_shared.steering import Evidence, Scoring, SteeredQuestion, steer
from prefdex_shared.vectors import Float32

from .engines import EngineName, make_engine
from .hits import Hit, Match, Origin


@dataclass(frozen=True, slots=True)
class Part:
    """A shard that is held.

    Attributes:
        shard: The preference and its entries.
        origin: `signed` by the publisher; `local`, made on this device; or `pending`, waiting for its shard.
        n_bytes: Bytes that it takes.
    """

    shard: Shard
    origin: Origin
    n_bytes: int


@dataclass(frozen=True, slots=True)
class Held:
    """A preference with what is kept for it.

    Attributes:
        parts: At least one; the publisher's first.
    """

    parts: tuple[Part, ...]

    @property
    def preference(self) -> Preference:
        """The preference."""
        return self.parts[0].shard.preference

    @property
    def vector(self) -> Float32:
        """The preference's vector: float32, (dim,), L2-normalized."""
        return self.parts[0].shard.preference_vector

    @property
    def origin(self) -> Origin:
        """Where the preference comes from."""
        return self.parts[0].origin

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return sum(len(part.shard.entries) for part in self.parts)

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes."""
        return sum(part.n_bytes for part in self.parts)

    @property
    def may_steer(self) -> bool:
        """Whether it can steer: not if its shards are empty, unless it waits for them."""
        return self.n_entries > 0 or self.origin == "pending"


class View:
    """Searches shards.

    Args:
        held: The preferences in their order.
        dim: Components of a vector.
        engine: What searches.
    """

    def __init__(self, held: Sequence[Held], dim: int, engine: EngineName = "auto") -> None:
        self.held = tuple(held)
        self._entries: list[tuple[Entry, int, Origin]] = [
            (entry, tag, part.origin)
            for tag, each in enumerate(self.held)
            for part in each.parts
            for entry in part.shard.entries
        ]
        self._rows_of_chunk: dict[str, list[int]] = {}
        for row, (entry, *_) in enumerate(self._entries):
            self._rows_of_chunk.setdefault(entry.text, []).append(row)
        self._chunk_ids: dict[str, ChunkId] = {}
        # A chunk fills at most this many rows, so this many times k rows always hold k different chunks.
        self._most_rows_per_chunk = max(map(len, self._rows_of_chunk.values()), default=1)
        vectors = [each.vector for each in self.held]
        self._preferences = np.array(vectors, dtype=np.float32).reshape(len(vectors), dim)
        self._may_steer = np.array([each.may_steer for each in self.held], dtype=bool)
        self._vectors = _with_tags([_vectors(each, dim) for each in self.held], dim)
        self._evidence = Evidence([each.n_entries for each in self.held])
        self._engine = make_engine(self._vectors, engine)

    @property
    def n_entries(self) -> int:
        """Number of (chunk, preference) pairs."""
        return len(self._entries)

    @property
    def n_chunks(self) -> int:
        """Number of distinct chunks."""
        return len(self._rows_of_chunk)

    def steer(self, question: Float32, scoring: Scoring) -> SteeredQuestion:
        """Steer a question's vector: float32, (dim,), L2-normalized."""
        similarities = self._vectors[:, : len(question)] @ question
        return steer(question, self._preferences, self._may_steer, scoring, self._evidence, similarities)

    def search(self, steered: SteeredQuestion, k: int) -> list[Hit]:
        """Return the k best chunks, best first; ties in the order of preferences and of their entries."""
        if not self._entries:
            return []
        query = np.concatenate([steered.vector, steered.tag_scores])
        found = self._engine.search(query, min(k * self._most_rows_per_chunk, len(self._entries)))
        best = list(dict.fromkeys(self._entries[row][0].text for row, _ in found))
        return [self._hit(text, query) for text in best[:k]]

    def _hit(self, text: str, query: Float32) -> Hit:
        rows = self._rows_of_chunk[text]
        matches = [self._match(row, query) for row in rows]
        if len(matches) > 1:
            matches.sort(key=lambda each: -each.score)
        entry = self._entries[rows[0]][0]
        return Hit(self._chunk_id(text), entry.title, text, entry.source, matches[0].score, tuple(matches))

    def _chunk_id(self, text: str) -> ChunkId:
        if text not in self._chunk_ids:
            self._chunk_ids[text] = chunk_id(text)
        return self._chunk_ids[text]

    def _match(self, row: int, query: Float32) -> Match:
        entry, tag, origin = self._entries[row]
        dim = self._preferences.shape[1]
        similarity, tag_score = float(self._vectors[row, :dim] @ query[:dim]), float(query[dim + tag])
        return Match(
            preference=self.held[tag].preference.text,
            instruction=entry.instruction,
            score=similarity + tag_score,
            similarity=similarity,
            tag_score=tag_score,
            confidence=entry.confidence,
            origin=origin,
        )


def _vectors(held: Held, dim: int) -> Float32:
    return np.concatenate([np.zeros((0, dim), np.float32), *(part.shard.vectors for part in held.parts)])


def _with_tags(blocks: Sequence[Float32], dim: int) -> Float32:
    """Return all vectors, each with one more component per block, 1 for its own: float32, (n, dim + m)."""
    rows = np.zeros((sum(map(len, blocks)), dim + len(blocks)), dtype=np.float32)
    at = 0
    for tag, block in enumerate(blocks):
        rows[at : at + len(block), :dim] = block
        rows[at : at + len(block), dim + tag] = 1.0
        at += len(block)
    return rows
