"""Printing for people and for machines."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime


def emit(value: object) -> None:
    """Print one JSON object on one line."""
    print(json.dumps(value, default=_plain, ensure_ascii=False))  # noqa: T201


def say(line: str = "") -> None:
    """Print a line for a person."""
    print(line)  # noqa: T201


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")
