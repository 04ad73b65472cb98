"""The search index of a bundle, built from the verified int8 codes; a serialized index is never read.

The tag term of steering depends on an entry only through its preference. So each vector gets one more component per
preference, 1 for its own: the inner product with (q~, tag scores) is then the whole score, and one exact search ranks
all entries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prefdex_shared.errors import MissingExtraError
from prefdex_shared.shard import Shard
from prefdex_shared.steering import SteeredQuestion
from prefdex_shared.vectors import Float32


class EntryIndex:
    """Exact inner-product search over the entries of all shards.

    Args:
        shards: The bundle's shards, in order.
        dim: Components of a vector.
    """

    def __init__(self, shards: Sequence[Shard], dim: int) -> None:
        try:
            import faiss
        except ModuleNotFoundError as error:
            raise MissingExtraError("faiss", "client") from error
        self._index = faiss.IndexFlatIP(dim + len(shards))
        for tag, shard in enumerate(shards):
            rows = np.zeros((len(shard.entries), dim + len(shards)), dtype=np.float32)
            rows[:, :dim] = shard.vectors
            rows[:, dim + tag] = 1.0
            if len(rows):
                self._index.add(rows)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def search(self, question: SteeredQuestion, k: int) -> list[tuple[int, float]]:
        """Return the k best entries.

        Args:
            question: The steered question.
            k: How many; fewer are returned when there are fewer.

        Returns:
            (row, score), best first; ties by row, which is the order of the shards and of their entries.
        """
        k = min(k, len(self))
        if k <= 0:
            return []
        scores, rows = self._index.search(_query(question)[None], k)
        found = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def score(self, row: int, question: SteeredQuestion) -> float:
        """Return the score of one entry."""
        return float(self._index.reconstruct(row) @ _query(question))


def _query(question: SteeredQuestion) -> Float32:
    return np.concatenate([question.vector, question.tag_scores])
