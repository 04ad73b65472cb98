"""The prompts, as versioned text files, and their rendering.

The system text is the file, verbatim. The user text is one JSON object with the preference first, so that all
requests about one preference share a prefix. Nothing is substituted into a template: a document stands inside a JSON
string, which it cannot close, and different inputs always render to different texts.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from ..ids import content_hash
from ..records import Pair

JUDGE = "judge-reasoned.v1"
WRITER = "writer.v1"


@cache
def system_text(name: str) -> str:
    """Return the system text of a prompt.

    Args:
        name: Name with version, such as `JUDGE`.
    """
    return resources.files(__package__).joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()


@cache
def prompt_id(name: str) -> str:
    """Return the identity of a prompt, which changes with its text."""
    return content_hash("prefdex/prompt/1", name, system_text(name))


def user_text(pair: Pair) -> str:
    """Render a pair for any of the prompts."""
    passage = {"title": pair.chunk.title, "text": pair.chunk.text}
    return json.dumps({"preference": pair.preference.text, "passage": passage}, ensure_ascii=False)
