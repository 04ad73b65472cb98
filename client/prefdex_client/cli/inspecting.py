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
        emit(description.verdict_fields() if options.verify_only else description)
    elif options.verify_only:
        say(description.verdict())
    else:
        _show(description)
    return 0


def _show(description: BundleDescription) -> None:
    for name, value in description.rows():
        say(f"{name:<9} {value}")
    for shard in description.shards:
        say(f"{shard.n_entries:6,d} entries {shard.n_bytes:8,d} bytes  {shard.preference}")
        for example in shard.examples:
            say(f"{'':31}{example}")
