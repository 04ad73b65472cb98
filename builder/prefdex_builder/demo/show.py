"""The demo's result for a person, and for a machine."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from .run import DemoResult

_MAX_CHARACTERS = 160


def show(result: DemoResult, console: Console, tables: list[Table]) -> None:
    """Print the result.

    Args:
        result: The result.
        console: Where to.
        tables: What was read and what was kept, as tables.
    """
    for table in tables:
        console.print(table)
    console.print(_sizes(result))
    for comparison in result.comparisons:
        columns = ("as it is asked", "steered by the preferences")
        title = f"{comparison.user} asks: {comparison.question}"
        console.print(_side_by_side(title, columns, comparison.unsteered, comparison.steered))
    replacement = result.replacement
    console.print(f'{result.comparisons[0].user} replaces "{replacement.old}"')
    console.print(f'  by "{replacement.new}"')
    equal = "equals a fresh download byte for byte" if replacement.equals_fresh else "DIFFERS from a fresh download"
    sizes = f"{replacement.patch_bytes:,} bytes instead of {replacement.bundle_bytes:,}"
    console.print(f"  patch: {sizes}; the patched bundle {equal}")
    title = f"the same question again: {replacement.question}"
    console.print(_side_by_side(title, ("before", "after the patch"), replacement.before, replacement.after))
    console.print("No language model was used: `extractive:` keeps by similarity and quotes (see the README).")
    console.print(result.attribution)


def summary(result: DemoResult) -> dict[str, Any]:
    """Return the result as one JSON object."""
    built = result.built
    return {
        "documents": result.added.documents,
        "chunks": built.chunks,
        "candidates": built.candidates,
        "kept": built.kept,
        "entries": built.entries,
        "llm": built.llm,
        "bundles": [
            {
                "user": user.user,
                "preferences": len(user.preferences),
                "entries": sum(preference.entries for preference in user.preferences),
                "bytes": user.bundle_bytes,
            }
            for user in built.users
        ],
        "full_index_bytes": result.full_index_bytes,
        "patch_bytes": result.replacement.patch_bytes,
        "patched_equals_fresh": result.replacement.equals_fresh,
        "hits": [
            {
                "user": comparison.user,
                "question": comparison.question,
                "unsteered": [hit["title"] for hit in comparison.unsteered],
                "steered": [hit["title"] for hit in comparison.steered],
            }
            for comparison in result.comparisons
        ],
        "replaced": {
            "question": result.replacement.question,
            "before": [hit["title"] for hit in result.replacement.before],
            "after": [hit["title"] for hit in result.replacement.after],
        },
        "seconds": {"add": dict(result.added.seconds), "build": dict(built.seconds)},
    }


def _sizes(result: DemoResult) -> Table:
    table = Table(
        "bundle", "preferences", "entries", "bytes", "full index with text", "smaller by", title_justify="left"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for user in result.built.users:
        table.add_row(
            user.user,
            str(len(user.preferences)),
            str(sum(preference.entries for preference in user.preferences)),
            f"{user.bundle_bytes:,}",
            f"{result.full_index_bytes:,}",
            f"{result.full_index_bytes / user.bundle_bytes:.0f} x",
        )
    return table


def _side_by_side(
    title: str, columns: tuple[str, str], left: list[dict[str, Any]], right: list[dict[str, Any]]
) -> Table:
    table = Table(*columns, title=title, title_justify="left", show_lines=True)
    for index in range(max(len(left), len(right))):
        table.add_row(*(_cell(hits[index]) if index < len(hits) else "" for hits in (left, right)))
    return table


def _cell(hit: dict[str, Any]) -> Group:
    instruction = hit["matches"][0]["instruction"]
    if len(instruction) > _MAX_CHARACTERS:
        instruction = instruction[:_MAX_CHARACTERS].rsplit(" ", 1)[0] + " …"
    return Group(Text(f"{hit['score']:.3f}  {hit['title']}", style="bold"), Text(instruction))
