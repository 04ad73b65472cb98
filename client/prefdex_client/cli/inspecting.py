"""`prefdex-client inspect`."""

from __future__ import annotations

import argparse

from ..memory import Stats
from .output import emit, say
from .querying import open_memory


def run(options: argparse.Namespace) -> int:
    """Describe a bundle."""
    memory = open_memory(options)
    stats = memory.stats()
    if options.json:
        emit({"stats": stats, "preferences": memory.preferences})
        return 0
    for line in _lines(stats):
        say(line)
    for preference in memory.preferences:
        say(f"{preference.n_entries:6d} entries {preference.shard_bytes:8,d} bytes  {preference.text}")
    return 0


def _lines(stats: Stats) -> list[str]:
    state = "stale since" if stats.stale else "valid until"
    return [
        f"audience  {stats.audience}",
        f"version   {stats.version}, {state} {stats.expires:%Y-%m-%d}, signed by {', '.join(stats.signed_by)}",
        f"encoder   {stats.encoder_id}",
        f"llm       {stats.llm}",
        f"size      {stats.bundle_bytes:,} bytes: {stats.n_entries} entries of {stats.n_chunks} chunks",
    ]
