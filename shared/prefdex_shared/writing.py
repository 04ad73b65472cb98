"""The instruction of a kept pair (paper, section 3.2): how to read the chunk in the light of the preference."""

from __future__ import annotations

from collections.abc import Sequence

from . import answers, prompts
from .errors import FormatError
from .ids import content_hash
from .llm import LLM, Json, Prompt
from .records import Failure, Pair

MAX_INSTRUCTION_CHARACTERS = 400

_MAX_TOKENS = 120
_SCHEMA: Json = {
    "type": "object",
    "properties": {"instruction": {"type": "string", "minLength": 1, "maxLength": MAX_INSTRUCTION_CHARACTERS}},
    "required": ["instruction"],
    "additionalProperties": False,
}


def writer_id(llm_name: str) -> str:
    """Return the identity of a writer: engine and prompt."""
    return content_hash("prefdex/writer/1", llm_name, prompts.prompt_id(prompts.WRITER))


def write(pairs: Sequence[Pair], llm: LLM) -> list[str | Failure]:
    """Write the instruction of each pair.

    Args:
        pairs: Kept pairs.
        llm: The engine.

    Returns:
        An instruction of 1 to 400 characters, or a failure, for each pair, in order.
    """
    return answers.ask(llm, [_prompt(pair) for pair in pairs], _read)


def _prompt(pair: Pair) -> Prompt:
    system = prompts.system_text(prompts.WRITER)
    return Prompt("write", pair, system, prompts.user_text(pair), _SCHEMA, _MAX_TOKENS)


def _read(prompt: Prompt, answer: Json) -> str:
    instruction = answers.string(answer, "instruction")
    if not any(character.isalnum() for character in instruction):
        raise FormatError("the answer's 'instruction' says nothing")
    if len(instruction) > MAX_INSTRUCTION_CHARACTERS:
        raise FormatError(f"the answer's 'instruction' is longer than {MAX_INSTRUCTION_CHARACTERS} characters")
    if instruction.casefold() == prompt.pair.preference.text.casefold():
        raise FormatError("the answer's 'instruction' only repeats the preference")
    return instruction
