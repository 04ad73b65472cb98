"""A retriever for LlamaIndex. Needs the extra `llamaindex`."""

from __future__ import annotations

from prefdex_shared.errors import MissingExtraError

from ..hits import Hit
from ..memory import Memory
from .content import content, metadata

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise MissingExtraError("llama-index-core", "llamaindex") from error


class PrefdexRetriever(BaseRetriever):  # type: ignore[misc]
    """Retrieves from a memory.

    Args:
        memory: The memory.
        k: Number of different chunks.
        with_instructions: Whether a node's text ends with how to read it.
    """

    def __init__(self, memory: Memory, k: int = 5, *, with_instructions: bool = True) -> None:
        super().__init__()
        self._memory, self._k, self._with_instructions = memory, k, with_instructions

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [self._node(hit) for hit in self._memory.query(query_bundle.query_str, self._k)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [self._node(hit) for hit in await self._memory.aquery(query_bundle.query_str, self._k)]

    def _node(self, hit: Hit) -> NodeWithScore:
        text = content(hit, with_instructions=self._with_instructions)
        # The notes are in the text already; a prompt needs no second copy of them.
        hidden = [name for name in metadata(hit) if name not in {"title", "source"}]
        node = TextNode(
            id_=hit.chunk_id,
            text=text,
            metadata=metadata(hit),
            excluded_llm_metadata_keys=hidden,
            excluded_embed_metadata_keys=hidden,
        )
        return NodeWithScore(node=node, score=hit.score)
