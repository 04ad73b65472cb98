"""Built shards.

shards/<sha256>.shard          the bytes
shards/keys/<key>.json         that a key is built, by which bytes, and of how many pairs
shards/entries/<hash>.json     which bytes some entries were packed into: the same ones are not packed again
shards/ladders/<sha256>.json   the shortened forms of a whole shard
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from prefdex_shared import shard as shards
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.ids import ShardKey, content_hash, sha256_hex
from prefdex_shared.records import Preference

from ..budget import Ladder, Rung
from .storage import Storage


def shard_key(
    preference: Preference, *, snapshot: str, encoder: str, filtering: FilterConfig, judge: str, writer: str
) -> ShardKey:
    """Return the cache key of a shard: a hash of all that its bytes depend on.

    Args:
        preference: The preference.
        snapshot: Identity of the corpus's content, the chunker's settings included.
        encoder: Encoder id.
        filtering: Threshold and caps.
        judge: Identity of engine and prompt.
        writer: Identity of engine and prompt.
    """
    settings = (f"{filtering.tau:.9g}", str(filtering.min_candidates), str(filtering.max_candidates))
    formats = (str(shards.FORMAT), shards.CODEC)
    return ShardKey(
        content_hash("prefdex/shard-key/1", preference.text, snapshot, encoder, *settings, judge, writer, *formats)
    )


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """A built shard.

    Attributes:
        sha256: Hash of its bytes, as hex.
        n_bytes: Their number.
        n_candidates: Pairs that passed the coarse filter.
        n_kept: Pairs judged to be kept.
        n_discarded: Pairs judged to be discarded.
        n_entries: Pairs that were kept and have an instruction.
        n_failed: Pairs that failed; above 0 the shard is partial, and is completed by the next build.
    """

    sha256: str
    n_bytes: int
    n_candidates: int
    n_kept: int
    n_discarded: int
    n_entries: int
    n_failed: int


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """Reads and writes the built shards of a workspace.

    Attributes:
        storage: The folder `shards`.
    """

    storage: Storage

    def find(self, key: ShardKey) -> ShardRecord | None:
        """Return the shard that is built for a key, partial or not."""
        keys = self.storage.folder("keys")
        name = f"{key}.json"
        if not keys.exists(name):
            return None
        record = _record(keys.read_json(name))
        return record if self.storage.exists(f"{record.sha256}.shard") else None

    def some(self, n: int) -> list[ShardRecord]:
        """Return up to n built shards, to tell what shards are like in this workspace."""
        keys = self.storage.folder("keys")
        return [_record(keys.read_json(name)) for name in keys.names(".json")[:n]]

    def put(self, data: bytes) -> str:
        """Store a shard's bytes and return their SHA-256."""
        digest = sha256_hex(data)
        if not self.storage.exists(f"{digest}.shard"):
            self.storage.write(f"{digest}.shard", data)
        return digest

    def record(self, key: ShardKey, record: ShardRecord) -> None:
        """Say that a key is built; the bytes must be there."""
        self.storage.folder("keys").write_json(f"{key}.json", asdict(record))

    def packed(self, entries: str) -> tuple[str, int] | None:
        """Return hash and size of the shard that was packed of some entries."""
        folder, name = self.storage.folder("entries"), f"{entries}.json"
        if not folder.exists(name):
            return None
        fields = folder.read_json(name)
        sha256, n_bytes = str(fields["sha256"]), int(str(fields["n_bytes"]))
        return (sha256, n_bytes) if self.storage.exists(f"{sha256}.shard") else None

    def record_packed(self, entries: str, sha256: str, n_bytes: int) -> None:
        """Say which shard was packed of some entries; its bytes must be there."""
        self.storage.folder("entries").write_json(f"{entries}.json", {"sha256": sha256, "n_bytes": n_bytes})

    def summary(self, key: ShardKey) -> dict[str, object] | None:
        """Return what became of the pairs of a shard, for a report."""
        folder, name = self.storage.folder("summaries"), f"{key}.json"
        return folder.read_json(name) if folder.exists(name) else None

    def record_summary(self, key: ShardKey, summary: dict[str, object]) -> None:
        """Keep what became of the pairs of a shard."""
        self.storage.folder("summaries").write_json(f"{key}.json", summary)

    def get(self, sha256: str) -> bytes:
        """Return a shard's bytes."""
        return self.storage.read(f"{sha256}.shard")

    def ladder(self, sha256: str) -> Ladder | None:
        """Return the rungs of a whole shard, if they were made."""
        ladders, name = self.storage.folder("ladders"), f"{sha256}.json"
        if not ladders.exists(name):
            return None
        rungs = ladders.read_json(name)["rungs"]
        return [Rung(**rung) for rung in rungs] if isinstance(rungs, list) else None

    def record_ladder(self, sha256: str, ladder: Ladder) -> None:
        """Name the rungs of a whole shard; their bytes must be there."""
        self.storage.folder("ladders").write_json(f"{sha256}.json", {"rungs": [asdict(rung) for rung in ladder]})


def _record(fields: dict[str, object]) -> ShardRecord:
    counts = {name: int(str(value)) for name, value in fields.items() if name != "sha256"}
    return ShardRecord(str(fields["sha256"]), **counts)
