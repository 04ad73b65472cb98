"""`prefdex-client inspect`."""

from __future__ import annotations

import argparse

from prefdex_shared import files
from prefdex_shared.container import MAX_CONTAINER_BYTES
from prefdex_shared.describing import BundleDescription, describe

from ..memory import read_trust
from .output import emit, say


def run(options: argparse.Namespace) -> int:
    """Describe a bundle."""
    data = files.read(options.bundle, "bundle", MAX_CONTAINER_BYTES)
    description = describe(data, trust=read_trust(options.trust), audience=options.audience)
    if options.json:
        emit(description)
        return 0
    for line in _lines(description):
        say(line)
    for shard in description.shards:
        say(f"{shard.n_entries:6d} entries {shard.n_bytes:8,d} bytes  {shard.preference}")
    return 0


def _lines(description: BundleDescription) -> list[str]:
    state = "stale since" if description.stale else "valid until"
    n_entries = sum(shard.n_entries for shard in description.shards)
    return [
        f"audience  {description.audience}",
        f"version   {description.version}, {state} {description.expires:%Y-%m-%d}",
        f"signed by {', '.join(description.signed_by)}",
        f"encoder   {description.encoder_id}",
        f"llm       {description.llm}",
        f"size      {description.bundle_bytes:,} bytes, {n_entries} entries",
    ]
