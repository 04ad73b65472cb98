"""pack: the entries of a preference -> a shard, on a cluster and on a device alike."""

from __future__ import annotations

from collections.abc import Sequence

from . import shard as shards
from .encoder import Encoder
from .records import Entry, Preference


def pack(preference: Preference, entries: Sequence[Entry], encoder: Encoder) -> bytes:
    """Encode the shard of a preference; its vectors are the embeddings of the instructions.

    Args:
        preference: The preference.
        entries: In any order.
        encoder: The encoder of the bundle.
    """
    # One order before encoding, so that equal entries are equal bytes.
    entries = sorted(entries, key=lambda entry: entry.chunk_id)
    vectors = encoder.encode([entry.instruction for entry in entries])
    preference_vector = encoder.encode([preference.text])[0]
    return shards.encode(shards.pack(preference, encoder.id, entries, preference_vector, vectors))
