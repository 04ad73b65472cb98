"""The fine verification (paper, section 3.2): a decision about each pair, with its reason and confidence."""

from __future__ import annotations

from collections.abc import Sequence

from . import answers, prompts
from .errors import FormatError
from .ids import content_hash
from .llm import LLM, Json, Prompt
from .records import Failure, Pair, Verdict

_DECISIONS = ("keep", "discard")
_MAX_TOKENS = 160
_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "reason": {"type": "string", "maxLength": 300},
        "decision": {"type": "string", "enum": list(_DECISIONS)},
        "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
    },
    "required": ["reason", "decision", "confidence"],
    "additionalProperties": False,
}


def judge_id(llm_name: str) -> str:
    """Return the identity of a judge: engine and prompt."""
    return content_hash("prefdex/judge/1", llm_name, prompts.prompt_id(prompts.JUDGE))


def judge(pairs: Sequence[Pair], llm: LLM) -> list[Verdict | Failure]:
    """Decide about each pair.

    Args:
        pairs: Candidates of the coarse filter.
        llm: The engine.

    Returns:
        A verdict or a failure for each pair, in order. A failure is never a verdict to discard.
    """
    return answers.ask(llm, [_prompt(pair) for pair in pairs], _read)


def _prompt(pair: Pair) -> Prompt:
    system = prompts.system_text(prompts.JUDGE)
    return Prompt("judge", pair, system, prompts.user_text(pair), _SCHEMA, _MAX_TOKENS)


def _read(_: Prompt, answer: Json) -> Verdict:
    decision = answers.string(answer, "decision")
    if decision not in _DECISIONS:
        raise FormatError("the answer's 'decision' is neither keep nor discard")
    confidence = answers.whole_number(answer, "confidence", 100) / 100
    return Verdict(decision == "keep", answers.string(answer, "reason"), confidence)
