"""embed: blocks of chunks -> blocks of chunks with embeddings, stored where they were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from prefdex_shared.encoder import Encoder, open_encoder
from prefdex_shared.vectors import store

from ..cluster.stage import ONE_CPU, Call, Resources
from ..workspace import Workspace
from ..workspace.corpus import block_name, block_table


def embed(chunk_ids: Sequence[str], texts: Sequence[str], encoder: Encoder) -> pa.Table:
    """Embed one block of chunks, each text alone.

    Returns:
        Columns `chunk_id`, `text` and `embedding` (float16).
    """
    return block_table(chunk_ids, texts, store(encoder.encode(texts)))


@dataclass(frozen=True, slots=True)
class EmbedStage:
    """Embeds and stores blocks on a worker.

    Attributes:
        encoder: Location of the encoder.
        workspace: Where blocks are stored.
    """

    encoder: str
    workspace: Workspace
    name: str = "embed"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        """Load the encoder."""
        encoder = open_encoder(self.encoder)
        chunks = self.workspace.corpus.chunks

        def call(block: pa.Table) -> pa.Table:
            chunk_ids, texts = block["chunk_id"].to_pylist(), block["text"].to_pylist()
            name = block_name(chunk_ids, encoder.id)
            chunks.write_table(name, embed(chunk_ids, texts, encoder))
            return pa.table({"block": [name], "n_chunks": [len(chunk_ids)]})

        return call
