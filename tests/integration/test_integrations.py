"""Retrievers, inside the frameworks that they are for."""

import asyncio
import sys
from pathlib import Path

import pytest

from prefdex_client import Memory
from prefdex_shared.errors import MissingExtraError
from support.bundles import AUDIENCE, CONTENT, ENCODER, Publisher

# These packages warn about themselves.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def memory(publisher: Publisher, tmp_path: Path) -> Memory:
    (tmp_path / "me.pdx").write_bytes(publisher.bundle(CONTENT))
    return Memory.open(tmp_path / "me.pdx", trust=publisher.trust, encoder=ENCODER, audience=AUDIENCE)


def test_langchain(memory: Memory) -> None:
    from langchain_core.runnables import RunnableLambda

    from prefdex_client.integrations.langchain import PrefdexRetriever

    chain = PrefdexRetriever(memory=memory, k=2) | RunnableLambda(lambda found: found)
    documents = chain.invoke("who likes tea")
    hits = memory.query("who likes tea", 2)
    assert [each.id for each in documents] == [hit.chunk_id for hit in hits]
    assert documents[0].page_content == f"{hits[0].text}\n" + "\n".join(
        f"Note: {each}" for each in hits[0].instructions
    )
    assert documents[0].metadata["preferences"] == list(hits[0].preferences)
    assert documents[0].metadata["local"] is False
    assert asyncio.run(chain.ainvoke("who likes tea")) == documents
    plain = PrefdexRetriever(memory=memory, k=1, with_instructions=False).invoke("who likes tea")
    assert [each.page_content for each in plain] == [hits[0].text]


def test_llamaindex(memory: Memory) -> None:
    from llama_index.core.schema import MetadataMode

    from prefdex_client.integrations.llamaindex import PrefdexRetriever

    retriever = PrefdexRetriever(memory, 2)
    nodes = retriever.retrieve("who likes tea")
    hits = memory.query("who likes tea", 2)
    assert [(each.node.node_id, each.score) for each in nodes] == [(hit.chunk_id, hit.score) for hit in hits]
    for_llm = nodes[0].node.get_content(MetadataMode.LLM)
    assert hits[0].title in for_llm
    assert for_llm.count(hits[0].instructions[0]) == 1
    assert [each.node.node_id for each in asyncio.run(retriever.aretrieve("who likes tea"))] == [
        each.node.node_id for each in nodes
    ]


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [("langchain", "langchain_core", "langchain"), ("llamaindex", "llama_index", "llamaindex")],
)
def test_a_missing_package_names_its_extra(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"prefdex_client.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    for loaded in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, loaded, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        __import__(name)
    assert caught.value.hint == f"Install it with: pip install 'prefdex[{extra}]'"
