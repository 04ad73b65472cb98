"""What a memory answers from at one moment: shards with their index. Immutable, so that threads may share it.

A question is compared with all entries once, since its steering needs that. Their products with the preferences are
known before, and q~ is a weighted sum of question and preferences, so every score follows without a second pass over
the vectors, which a small device would have to read from its memory again.
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

    def __init__(self, held: Sequence[Held], dim: int, engine: EngineName = "numpy") -> None:
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
        self._vectors = np.concatenate([np.zeros((0, dim), np.float32), *(_vectors(each, dim) for each in self.held)])
        self._to_preferences = self._vectors @ self._preferences.T
        self._tags = np.array([tag for _, tag, _ in self._entries], dtype=np.intp)
        self._evidence = Evidence([each.n_entries for each in self.held])
        self._engine = make_engine(self._vectors, self._tags, len(self.held), engine)

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
        return self._steer(question, self._vectors @ question, scoring)

    def search(self, question: Float32, scoring: Scoring, k: int) -> list[Hit]:
        """Return the k best chunks, best first; ties in the order of preferences and of their entries.

        Args:
            question: float32, (dim,), L2-normalized.
            scoring: The knobs of steering.
            k: Number of different chunks.
        """
        similarities = self._vectors @ question
        steered = self._steer(question, similarities, scoring)
        cosines = steered.question_weight * similarities + self._to_preferences @ steered.preference_weights
        scores = cosines + steered.tag_scores[self._tags]
        n_rows = min(k * self._most_rows_per_chunk, len(self._entries))
        best = dict.fromkeys(self._entries[row][0].text for row in self._engine.best(steered, scores, n_rows))
        return [self._hit(text, scores, steered.tag_scores) for text in list(best)[:k]]

    def _steer(self, question: Float32, similarities: Float32, scoring: Scoring) -> SteeredQuestion:
        return steer(question, self._preferences, self._may_steer, scoring, self._evidence, similarities)

    def _hit(self, text: str, scores: Float32, tag_scores: Float32) -> Hit:
        rows = self._rows_of_chunk[text]
        matches = [self._match(row, float(scores[row]), tag_scores) for row in rows]
        if len(matches) > 1:
            matches.sort(key=lambda each: -each.score)
        entry = self._entries[rows[0]][0]
        return Hit(self._chunk_id(text), entry.title, text, entry.source, matches[0].score, tuple(matches))

    def _chunk_id(self, text: str) -> ChunkId:
        if text not in self._chunk_ids:
            self._chunk_ids[text] = chunk_id(text)
        return self._chunk_ids[text]

    def _match(self, row: int, score: float, tag_scores: Float32) -> Match:
        entry, tag, origin = self._entries[row]
        tag_score = float(tag_scores[tag])
        return Match(
            preference=self.held[tag].preference.text,
            instruction=entry.instruction,
            score=score,
            similarity=score - tag_score,
            tag_score=tag_score,
            confidence=entry.confidence,
            origin=origin,
        )


def _vectors(held: Held, dim: int) -> Float32:
    return np.concatenate([np.zeros((0, dim), np.float32), *(part.shard.vectors for part in held.parts)])
