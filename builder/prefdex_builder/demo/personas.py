"""Personas in the paper's form: preferences, each with questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from prefdex_shared.errors import ConfigurationError

SAMPLE = Path(__file__).parent / "sample.json"


@dataclass(frozen=True, slots=True)
class Block:
    """A preference with questions that touch it.

    Attributes:
        preference: The preference.
        questions: The questions.
    """

    preference: str
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Persona:
    """One person.

    Attributes:
        index: Number of the person.
        blocks: The preferences.
    """

    index: int
    blocks: tuple[Block, ...]

    @property
    def user(self) -> str:
        """An opaque user id."""
        return f"sample-{self.index}"

    @property
    def preferences(self) -> list[str]:
        """Texts of the preferences."""
        return [block.preference for block in self.blocks]


def read_personas(path: Path = SAMPLE) -> list[Persona]:
    """Read a persona file: [{persona_index, preference_blocks: [{preference, queries: [{question}]}]}].

    Raises:
        ConfigurationError: The file is not of that form.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [_persona(row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} is no persona file: {type(error).__name__}.") from error


def _persona(row: dict[str, object]) -> Persona:
    blocks = row["preference_blocks"]
    if not isinstance(blocks, list):
        raise TypeError("preference_blocks")
    return Persona(
        int(str(row["persona_index"])),
        tuple(Block(block["preference"], tuple(query["question"] for query in block["queries"])) for block in blocks),
    )
