"""The HTTP engine, against llama.cpp's own server. Plumbing only: this model decides at chance."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from prefdex_shared.errors import EngineError
from prefdex_shared.llm import Prompt
from prefdex_shared.openai_http import KEY_VARIABLE, OpenAiLLM
from prefdex_shared.records import Chunk, Pair, Preference

pytestmark = pytest.mark.llm

SCHEMA = {
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": ["keep", "discard"]}},
    "required": ["decision"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def address(smollm: Path) -> Iterator[str]:
    """A server that speaks OpenAI's chat completions."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(smollm)
    params.n_ctx, params.n_parallel, params.verbosity = 512, 1, -1
    server = xllamacpp.Server(params)
    yield f"openai:{server.listening_address}/v1#smollm"
    del server  # which ends it


def _prompt(user: str = "Tea is good.", max_tokens: int = 30) -> Prompt:
    pair = Pair(Chunk("Tea is good."), Preference("I like tea"), 0.5)
    return Prompt("judge", pair, "Decide whether the text is about tea.", user, SCHEMA, max_tokens)


def test_answers_follow_the_schema(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a key")
    llm = OpenAiLLM(address)
    assert llm.name == "openai:smollm"
    for answer in llm.complete([_prompt(), _prompt("The train leaves.")]):
        assert json.loads(str(answer))["decision"] in {"keep", "discard"}


def test_failures_have_names_and_quote_nothing(address: str) -> None:
    cut_off, too_long, fine = OpenAiLLM(address).complete(
        [_prompt(max_tokens=1), _prompt("secret " * 2_000), _prompt()]
    )
    assert isinstance(cut_off, EngineError)
    assert "cut off at max_tokens" in str(cut_off)
    assert isinstance(too_long, EngineError)
    assert str(too_long) == "The server answered 400."
    assert not too_long.retryable
    assert isinstance(fine, str)


def test_a_server_that_does_not_speak_it(address: str) -> None:
    [error] = OpenAiLLM(address.replace("/v1#", "/nothing#")).complete([_prompt()])
    assert isinstance(error, EngineError)
    assert str(error) == "The server answered 404."


def test_a_server_that_is_not_there() -> None:
    [error] = OpenAiLLM("openai:http://127.0.0.1:9/v1#m").complete([_prompt()])
    assert isinstance(error, EngineError)
    assert error.retryable
