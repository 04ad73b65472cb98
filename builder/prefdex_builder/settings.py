"""`prefdex.toml`: where things are, and how they are built.

Each table fills one dataclass, whose fields are the keys; their defaults stand there, and nowhere else:

    workspace, encoder, preferences, changes, keys, signer    paths are relative to the file
    sources      a list: what `build` adds to the corpus first
    [corpus]     prefdex_builder.config.CorpusConfig
    [filter]     prefdex_shared.filtering.FilterConfig, without tau that of the encoder; and engine
    [llm]        prefdex_builder.engines.LLMConfig, and [price] prefdex_builder.config.Price
    [build]      max_bundle_bytes, max_failed_share, valid_days
    [steering]   prefdex_shared.steering.Scoring
    [cluster]    prefdex_builder.cluster.ClusterConfig
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from prefdex_shared import files
from prefdex_shared.encoder import HASHING
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.steering import Scoring

from . import s3
from .cluster import ClusterConfig
from .config import BuildConfig, CorpusConfig, Price, default_tau
from .engines import LLMConfig

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "prefdex.toml"

_MAX_BYTES = 1 << 20
_PLACES = ("workspace", "encoder", "preferences", "changes", "keys")
_BUILD = ("max_bundle_bytes", "max_failed_share", "valid_days")
_TABLES: Mapping[str, type] = {
    "corpus": CorpusConfig,
    "filter": FilterConfig,
    "llm": LLMConfig,
    "price": Price,
    "build": BuildConfig,
    "steering": Scoring,
    "cluster": ClusterConfig,
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a file and the command line say. A command asks for what it needs with `need`.

    Attributes:
        places: Locations by key: `workspace`, `encoder`, `preferences`, `changes`, `keys`, and the URI `signer`.
        tables: Values by table and key.
        sources: What is added to the corpus.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path | None) -> Settings:
        """Read a file; without one, that of this folder, if there is one.

        Raises:
            ConfigurationError: The file is not there, not TOML, or says what is not known.
        """
        if path is None:
            path = Path(FILE)
            if not path.is_file():
                return cls()
        try:
            values = tomllib.loads(files.read(path, "configuration", _MAX_BYTES).decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path} is not TOML: {error}.") from error
        _known(values, (*_PLACES, "signer", "sources", *_TABLES), str(path))
        places = {key: _place(path, key, values[key]) for key in (*_PLACES, "signer") if key in values}
        tables = {key: _table(path, key, values[key]) for key in _TABLES if key in values}
        sources = values.get("sources", [])
        if not isinstance(sources, list):
            raise ConfigurationError(f"{path}: sources must be a list of strings.")
        return cls(places, tables, tuple(_place(path, "sources", each) for each in sources))

    def over(self, places: Mapping[str, str | None], tables: Mapping[str, Mapping[str, Any]]) -> Settings:
        """Return these settings under what the command line says; None says nothing."""
        return Settings(
            {**self.places, **_said(places)},
            {key: {**self.tables.get(key, {}), **_said(tables.get(key, {}))} for key in _TABLES},
            self.sources,
        )

    def need(self, key: str) -> str:
        """Return a location.

        Raises:
            ConfigurationError: Nobody has said it.
        """
        if key not in self.places:
            raise ConfigurationError(
                f"Nothing says where to find {key!r}.", hint=f'Give --{key}, or {key} = "..." in {FILE}.'
            )
        return self.places[key]

    def build(self) -> BuildConfig:
        """Return how to build.

        Raises:
            ConfigurationError: A value cannot be.
        """
        filtering = dict(self.tables.get("filter", {}))
        engine = filtering.pop("engine", None)
        if "tau" not in filtering and "encoder" in self.places:
            filtering["tau"] = default_tau(self.places["encoder"])
        more = dict(self.tables.get("build", {})) | ({"filter_engine": engine} if engine else {})
        return BuildConfig(
            filtering=FilterConfig(**filtering),
            llm=LLMConfig(**self.tables.get("llm", {})),
            price=Price(**self.tables.get("price", {})),
            scoring=Scoring(**self.tables.get("steering", {})),
            **more,
        )

    def corpus(self) -> CorpusConfig:
        """Return how documents are taken in."""
        return CorpusConfig(**self.tables.get("corpus", {}))

    def cluster(self) -> ClusterConfig:
        """Return where stages run."""
        return ClusterConfig(**self.tables.get("cluster", {}))


def _said(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _place(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigurationError(f"{path}: {key} must be a string.")
    if key == "signer" or value.startswith(s3.SCHEME) or value == HASHING:
        return value
    return str(path.parent / value)


def _table(path: Path, name: str, values: object) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: {name} must be a table, [{name}].")
    hints = get_type_hints(_TABLES[name])
    if name == "build":
        hints = {key: hints[key] for key in _BUILD}
    if name == "filter":
        hints["engine"] = str
    _known(values, tuple(hints), f"{path}: [{name}]")
    return {key: _value(f"{path}: {name}.{key}", value, hints[key]) for key, value in values.items()}


def _value(where: str, value: object, hint: Any) -> Any:
    for kind in (str, bool, int, float):
        if kind is hint or kind in getattr(hint, "__args__", ()):
            if type(value) is kind or (kind is float and type(value) is int):
                return kind(value)
            raise ConfigurationError(f"{where} must be of type {kind.__name__}, not {type(value).__name__}.")
    raise ConfigurationError(f"{where} cannot be set here.")


def _known(values: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in values:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It may have: {', '.join(known)}."
            raise ConfigurationError(f"{where} has an unknown key {key!r}.", hint=hint)
