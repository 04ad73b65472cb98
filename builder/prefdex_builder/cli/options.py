"""The options that `plan`, `build`, `calibrate` and `submit` share, over what `prefdex.toml` says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..preferences import User, apply_changes, read_changes, read_users
from ..preselectors import ENGINES
from ..settings import FILE, Settings

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="A prefdex.toml; options go before it.", show_default=f"{FILE}, if it is here"),
]
Workspace = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="The builder's folder, or s3://bucket/prefix.", show_default=False),
]
Encoder = Annotated[str | None, typer.Option("--encoder", "-e", help="The encoder folder.", show_default=False)]
Preferences = Annotated[
    str | None, typer.Option(help='A line per user: JSON with "user" and "preferences".', show_default=False)
]
Changes = Annotated[
    str | None,
    typer.Option(help="Lines of `prefdex-client changes --json`, on top of the preferences.", show_default=False),
]
Llm = Annotated[
    str | None, typer.Option(help="extractive:, llamacpp:FILE.gguf or openai:URL#MODEL.", show_default="extractive:")
]
Tau = Annotated[
    float | None, typer.Option(help="Least cosine similarity of a candidate.", show_default="the encoder's")
]
MaxCandidates = Annotated[int | None, typer.Option(help="Per preference.", min=1, show_default="1000")]
MinCandidates = Annotated[
    int | None, typer.Option(help="Per preference, below tau if need be.", min=0, show_default="0")
]
FilterEngine = Annotated[str | None, typer.Option(help=f"One of {', '.join(ENGINES)}.", show_default="numpy")]
MaxBundleBytes = Annotated[
    int | None,
    typer.Option(help="Cap of each .pdx file: the least valuable entries stay out.", min=1, show_default="none"),
]
_PLACES = ("workspace", "encoder", "preferences", "changes", "keys", "signer")
_KEYS = {
    "target_words": ("corpus", "target_words"),
    "embedder": ("corpus", "embedder"),
    "tau": ("filter", "tau"),
    "max_candidates": ("filter", "max_candidates"),
    "min_candidates": ("filter", "min_candidates"),
    "filter_engine": ("filter", "engine"),
    "llm": ("llm", "uri"),
    "valid_days": ("build", "valid_days"),
    "max_bundle_bytes": ("build", "max_bundle_bytes"),
    "max_failed_share": ("build", "max_failed_share"),
    "address": ("cluster", "address"),
    "workers": ("cluster", "n_workers"),
}
"""Table and key of each option that `prefdex.toml` has, too."""


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Return what the file says, under what the command line says.

    Args:
        given: A command's options by name: its `locals()`, before it has any of its own. What is None says nothing.

    Raises:
        ConfigurationError: The file is wrong.
    """
    tables: dict[str, dict[str, Any]] = {table: {} for table, _ in _KEYS.values()}
    for option in given.keys() & _KEYS.keys():
        table, key = _KEYS[option]
        tables[table][key] = given[option]
    return Settings.read(given["config"]).over({key: given[key] for key in given.keys() & set(_PLACES)}, tables)


def read_wanted(settings: Settings) -> list[User]:
    """Return whom to build for, with the changes of their devices.

    Raises:
        ConfigurationError: A file is not there, or a line of it is wrong.
    """
    changes = settings.places.get("changes")
    return apply_changes(read_users(settings.need("preferences")), read_changes(Path(changes)) if changes else [])
