"""pack: the entries of a preference -> a shard."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from prefdex_shared import shard as shards
from prefdex_shared.encoder import open_encoder
from prefdex_shared.ids import content_hash
from prefdex_shared.packing import pack
from prefdex_shared.records import Entry, Preference

from ..cluster.stage import ONE_CPU, Call, Resources
from ..workspace import ShardIndex

ENTRIES = pa.schema(
    [
        ("preference", pa.string()),
        ("text", pa.string()),
        ("title", pa.string()),
        ("source", pa.string()),
        ("instruction", pa.string()),
        ("confidence", pa.float64()),
        ("similarity", pa.float64()),
    ]
)
_COLUMNS = ENTRIES.names[1:]


def entries_table(preference: Preference, entries: Sequence[Entry]) -> pa.Table:
    """Return the entries of one preference as a batch; a preference without entries is one row without a text."""
    rows: list[dict[str, object]] = [
        {"preference": preference.text} | {column: getattr(entry, column) for column in _COLUMNS} for entry in entries
    ]
    return pa.Table.from_pylist(rows or [{"preference": preference.text}], schema=ENTRIES)


def entries_id(preference: Preference, entries: Sequence[Entry], encoder_id: str) -> str:
    """Return the identity of a shard before it is packed: a hash of all that its bytes depend on."""
    rows = sorted([repr(getattr(entry, column)) for column in _COLUMNS] for entry in entries)
    formats = (str(shards.FORMAT), shards.CODEC)
    return content_hash("prefdex/entries/1", preference.text, encoder_id, *formats, *itertools.chain(*rows))


@dataclass(frozen=True, slots=True)
class PackStage:
    """Packs and stores shards on a worker, a preference per batch.

    Attributes:
        encoder: Location of the encoder.
        shards: Where shards are stored.
    """

    encoder: str
    shards: ShardIndex
    name: str = "pack"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        """Load the encoder."""
        encoder = open_encoder(self.encoder)

        def call(batch: pa.Table) -> pa.Table:
            rows = batch.to_pylist()
            preference = Preference(rows[0]["preference"])
            entries = [Entry(*(row[column] for column in _COLUMNS)) for row in rows if row["text"] is not None]
            data = pack(preference, entries, encoder)
            digest = self.shards.put(data)
            return pa.table({"preference": [preference.text], "sha256": [digest], "n_bytes": [len(data)]})

        return call
