"""What the coarse filter found, by preference, so that a corpus that grew is searched only where it is new.

    candidates/<key>.parquet   chunk id, similarity; how many of the corpus's blocks were searched

Blocks of a corpus are only ever added, so their number says which were searched. Chunks that no document holds any more
are found too: whether a chunk is alive changes, what is near does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from prefdex_shared.candidates import Candidate
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.ids import ChunkId, content_hash
from prefdex_shared.records import Preference

from .storage import Storage

_N_BLOCKS = b"n_blocks"


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates of one preference.

    Attributes:
        candidates: Best first, chunks that are not alive included.
        n_blocks: How many blocks of the corpus were searched, from its first.
    """

    candidates: Sequence[Candidate]
    n_blocks: int


@dataclass(frozen=True, slots=True)
class CandidateStore:
    """Reads and writes candidates.

    Attributes:
        storage: The folder `candidates`.
        encoder_id: Encoder of all vectors.
        config: Threshold and caps.
    """

    storage: Storage
    encoder_id: str
    config: FilterConfig

    def find(self, preference: Preference) -> Found | None:
        """Return what was found for a preference."""
        name = self._name(preference)
        if not self.storage.exists(name):
            return None
        table = self.storage.read_table(name)
        pairs = zip(table["chunk_id"].to_pylist(), table["similarity"].to_pylist(), strict=True)
        n_blocks = int((table.schema.metadata or {}).get(_N_BLOCKS, b"0"))
        return Found([Candidate(ChunkId(chunk_id), similarity) for chunk_id, similarity in pairs], n_blocks)

    def put(self, preference: Preference, found: Found) -> None:
        """Store what was found for a preference."""
        ids, similarities = zip(*found.candidates, strict=True) if found.candidates else ((), ())
        columns = {"chunk_id": pa.array(ids, pa.string()), "similarity": pa.array(similarities, pa.float64())}
        table = pa.table(columns).replace_schema_metadata({_N_BLOCKS: str(found.n_blocks)})
        self.storage.write_table(self._name(preference), table)

    def _name(self, preference: Preference) -> str:
        config = self.config
        settings = (f"{config.tau:.9g}", str(config.min_candidates), str(config.max_candidates))
        return f"{content_hash('prefdex/candidates/1', preference.text, self.encoder_id, *settings)}.parquet"
