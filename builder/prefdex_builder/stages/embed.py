"""embed: blocks of chunks -> blocks of chunks with embeddings, stored where they were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from prefdex_shared.encoder import open_encoder
from prefdex_shared.vectors import store

from ..cluster.stage import ONE_CPU, ONE_GPU, Call, Resources
from ..embedders import Embedder, open_embedder, runs_on_gpu
from ..workspace import Workspace
from ..workspace.corpus import block_name, block_table


def embed(chunk_ids: Sequence[str], texts: Sequence[str], embedder: Embedder) -> pa.Table:
    """Embed one block of chunks.

    Returns:
        Columns `chunk_id`, `text` and `embedding` (float16).
    """
    return block_table(chunk_ids, texts, store(embedder.encode(texts)))


@dataclass(frozen=True, slots=True)
class EmbedStage:
    """Embeds and stores blocks on a worker.

    Attributes:
        encoder: Location of the encoder.
        workspace: Where blocks are stored.
        embedder: What embeds; empty for the encoder itself, each text alone.
    """

    encoder: str
    workspace: Workspace
    embedder: str = ""
    name: str = "embed"

    @property
    def resources(self) -> Resources:
        """A GPU for an embedder that is made for them."""
        return ONE_GPU if runs_on_gpu(self.embedder) else ONE_CPU

    def load(self) -> Call:
        """Load the embedder."""
        encoder = open_encoder(self.encoder)
        embedder = open_embedder(self.embedder, encoder)
        chunks = self.workspace.corpus.chunks

        def call(block: pa.Table) -> pa.Table:
            chunk_ids, texts = block["chunk_id"].to_pylist(), block["text"].to_pylist()
            name = block_name(chunk_ids, encoder.id, self.embedder)
            chunks.write_table(name, embed(chunk_ids, texts, embedder))
            return pa.table({"block": [name], "n_chunks": [len(chunk_ids)]})

        return call
