"""How long work tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

Advance = Callable[[int], object]


class Progress(Protocol):
    """Shows the progress of stages."""

    def stage(self, name: str, total: int) -> AbstractContextManager[Advance]:
        """Begin a stage of `total` steps; the returned function is called with the number of steps done."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> AbstractContextManager[Advance]:  # noqa: ARG002 - the Protocol's
        """Begin a stage."""
        return nullcontext(lambda _: None)


class Stopwatch:
    """Passes progress on, and keeps the seconds of each stage.

    Args:
        progress: What shows it.
        check: Called before each stage; raises if it must not begin.

    Attributes:
        seconds: Time per stage, in the order in which they began.
    """

    def __init__(self, progress: Progress, check: Callable[[], object] = lambda: None) -> None:
        self._progress = progress
        self._check = check
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Advance]:
        """Begin a stage."""
        self._check()
        started = time.perf_counter()
        try:
            with self._progress.stage(name, total) as advance:
                yield advance
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - started, 3)
