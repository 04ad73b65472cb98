"""Stages that fail, for workers to import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from prefdex_builder.cluster import Resources
from prefdex_builder.cluster.stage import ONE_CPU, Call
from prefdex_shared.errors import ConfigurationError


@dataclass(frozen=True)
class Raising:
    """A stage whose worker raises, when it is loaded or when it is called."""

    error: Callable[[], Exception]
    at_load: bool = False
    name: str = "raise"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        if self.at_load:
            raise self.error()

        def call(batch: pa.Table) -> pa.Table:
            raise self.error()

        return call


def our_error() -> Exception:
    return ConfigurationError("The thing is wrong.", hint="Mend it.")


def foreign_error() -> Exception:
    return ZeroDivisionError("a secret text")
