"""The baseline `reference`: the paper's published way to store a memory and to ask it.

Written from its description: a FAISS index of float32 instruction vectors beside a JSONL, and a query that encodes the
question, then every preference one by one, then the best preference again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import faiss
import numpy as np

from prefdex_shared.encoder import Encoder
from prefdex_shared.records import Entry, Preference
from prefdex_shared.vectors import Float32, normalize


class ReferenceMemory:
    """One person's memory, an entry per kept chunk with all preferences that it is kept for.

    Args:
        held: Each preference with its entries.
        reasons: A reason per chunk text.
        encoder: Encodes instructions and questions.
    """

    def __init__(
        self, held: Sequence[tuple[Preference, Sequence[Entry]]], reasons: dict[str, str], encoder: Encoder
    ) -> None:
        self._encoder = encoder
        self._preferences = [preference.text for preference, _ in held]
        matched: dict[str, list[str]] = {}
        first: dict[str, Entry] = {}
        for preference, entries in held:
            for entry in entries:
                matched.setdefault(entry.text, []).append(preference.text)
                first.setdefault(entry.text, entry)
        self.rows = [
            {
                "id": number,
                "text": text,
                "instruction": first[text].instruction,
                "preferences": matched[text],
                "relevant_preferences": matched[text],
                "reason": reasons[text],
                "active": True,
            }
            for number, text in enumerate(matched)
        ]
        self.index = faiss.IndexFlatIP(encoder.dim)

    def fill(self, vectors: Float32) -> None:
        """Add the instructions' vectors: float32, (n, dim), a row per entry of `rows`."""
        self.index.add(vectors)

    @property
    def n_bytes(self) -> int:
        """Size of the index file and the JSONL."""
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        return len(faiss.serialize_index(self.index)) + len(lines.encode())

    def query(self, question: str, k: int = 5) -> list[dict[str, object]]:
        """Ask a question."""
        asked = self._encoder.encode([question])[0]
        similarities = [float(asked @ self._encoder.encode([text])[0]) for text in self._preferences]
        best = self._encoder.encode([self._preferences[int(np.argmax(similarities))]])[0]
        _, rows = self.index.search(normalize(asked + best)[None], k)
        return [self.rows[row] for row in rows[0] if row >= 0]
