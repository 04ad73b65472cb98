"""Hits as text for the prompt of a generating LLM: numbered passages, within a budget.

A chunk is data. What stands in it cannot pass for a passage, a note or a source of ours: a line of it that begins like
one of the template's own delimiters is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prefdex_shared.errors import ConfigurationError

from .hits import Hit

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ContextTemplate:
    """How a hit is rendered. Fields are those of `str.format`.

    Attributes:
        passage: With `{number}`, `{title}`, `{text}`, `{notes}` and `{source}`.
        note: One instruction, with `{instruction}` and `{preference}`.
        source: Where it came from, with `{source}`; left out where that is not known.
        separator: Between passages.
        delimiters: A line of a chunk that begins with one of these gets `mark` before it.
        mark: What is put there.
    """

    passage: str = "[{number}] {title}\n{text}{notes}{source}"
    note: str = "\nNote: {instruction}"
    source: str = "\nSource: {source}"
    separator: str = "\n\n"
    delimiters: tuple[str, ...] = ("[", "Note:", "Source:")
    mark: str = "| "

    def render(self, number: int, hit: Hit) -> str:
        """Render one hit."""
        try:
            notes = [
                self.note.format(instruction=_line(match.instruction), preference=_line(match.preference))
                for match in hit.matches
            ]
            source = self.source.format(source=_line(hit.source)) if hit.source else ""
            return self.passage.format(
                number=number, title=_line(hit.title), text=self._marked(hit.text), notes="".join(notes), source=source
            )
        except (KeyError, IndexError, ValueError) as error:
            raise ConfigurationError(f"The context's template is wrong: {type(error).__name__} {error}.") from error

    def _marked(self, text: str) -> str:
        # A blank line would end the passage.
        lines = [line for line in text.splitlines() if line.strip()]
        return "\n".join(self.mark + line if line.lstrip().startswith(self.delimiters) else line for line in lines)


DEFAULT_TEMPLATE = ContextTemplate()


def render_context(
    hits: Sequence[Hit],
    *,
    template: ContextTemplate = DEFAULT_TEMPLATE,
    max_characters: int | None = None,
    max_tokens: int | None = None,
    count_tokens: CountTokens | None = None,
) -> str:
    """Render hits for a prompt; empty for no hits.

    Args:
        hits: Best first.
        template: How a hit is rendered.
        max_characters: A hit that would pass it is left out, whole; a shorter one after it may still fit.
        max_tokens: Likewise, by `count_tokens`.
        count_tokens: Counts as the generating LLM does.

    Raises:
        ConfigurationError: The template is wrong, or tokens are limited and nothing counts them.
    """
    if max_tokens is not None and count_tokens is None:
        raise ConfigurationError("A limit of tokens needs count_tokens.", hint="Give the tokenizer of your LLM.")
    text = ""
    number = 1
    for hit in hits:
        longer = text + (template.separator if text else "") + template.render(number, hit)
        too_many_characters = max_characters is not None and len(longer) > max_characters
        if too_many_characters or (max_tokens is not None and count_tokens and count_tokens(longer) > max_tokens):
            continue
        text, number = longer, number + 1
    return text


def _line(text: str) -> str:
    return " ".join(text.split())
