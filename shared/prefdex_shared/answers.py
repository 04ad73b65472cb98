"""Checked reading of an LLM's JSON answers. Nothing is scraped from prose, and no fault is taken for a decision."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from .errors import EngineError, FormatError
from .llm import LLM, Json, Prompt
from .records import Failure

T = TypeVar("T")

# Far above any answer within the schemas, so that a runaway one is refused rather than parsed.
_MAX_ANSWER_CHARACTERS = 20_000


def ask(llm: LLM, prompts: Sequence[Prompt], read: Callable[[Prompt, Json], T]) -> list[T | Failure]:
    """Put prompts to an engine and read each answer.

    Args:
        llm: The engine.
        prompts: The requests.
        read: Turns a JSON object into a record; raises FormatError where it is not one.

    Returns:
        A record or a failure for each prompt, in order.

    Raises:
        EngineError: The engine broke its contract, so that no answer can be told to belong to a prompt.
    """
    answers = llm.complete(prompts) if prompts else []
    if len(answers) != len(prompts):
        raise EngineError(
            f"The engine {llm.name!r} gave {len(answers)} answers to {len(prompts)} prompts.", retryable=False
        )
    return [_read_one(prompt, answer, read) for prompt, answer in zip(prompts, answers, strict=True)]


def string(answer: Json, field: str) -> str:
    """Return a field that must be a string, with white space collapsed."""
    value = answer.get(field)
    if not isinstance(value, str):
        raise FormatError(f"the answer's {field!r} is not a string")
    return " ".join(value.split())


def whole_number(answer: Json, field: str, largest: int) -> int:
    """Return a field that must be a whole number from 0 to `largest`."""
    value = answer.get(field)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise FormatError(f"the answer's {field!r} is not a whole number from 0 to {largest}")
    return value


def _read_one(prompt: Prompt, answer: str | EngineError, read: Callable[[Prompt, Json], T]) -> T | Failure:
    if isinstance(answer, EngineError):
        return Failure(prompt.task, str(answer), answer.retryable)
    try:
        return read(prompt, _json_object(answer))
    except FormatError as error:
        return Failure(prompt.task, str(error))


def _json_object(answer: str) -> Json:
    if len(answer) > _MAX_ANSWER_CHARACTERS:
        raise FormatError(f"the answer is longer than {_MAX_ANSWER_CHARACTERS} characters")
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        raise FormatError("the answer is not JSON (was it cut off?)") from None
    if not isinstance(value, dict):
        raise FormatError("the answer is not a JSON object")
    return value
