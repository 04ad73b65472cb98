"""A retriever for LangChain. Needs the extra `langchain`."""

from __future__ import annotations

from prefdex_shared.errors import MissingExtraError

from ..hits import Hit
from ..memory import Memory
from .content import content, metadata

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict
except ModuleNotFoundError as error:
    raise MissingExtraError("langchain-core", "langchain") from error


class PrefdexRetriever(BaseRetriever):  # type: ignore[misc]
    """Retrieves from a memory.

    Attributes:
        memory: The memory.
        k: Number of different chunks.
        with_instructions: Whether a document's text ends with how to read it.
    """

    memory: Memory
    k: int = 5
    with_instructions: bool = True

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        del run_manager
        return [self._document(hit) for hit in self.memory.query(query, self.k)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        return [self._document(hit) for hit in await self.memory.aquery(query, self.k)]

    def _document(self, hit: Hit) -> Document:
        text = content(hit, with_instructions=self.with_instructions)
        return Document(id=hit.chunk_id, page_content=text, metadata=metadata(hit))
