"""What all commands share: errors in two lines, exit codes, progress, JSON, and the options that several take.

Exit codes: 0 done; 1 refused or failed, with two lines that say why; 2 wrong arguments; 130 interrupted, with what
was finished kept.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, ParamSpec

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Table

from prefdex_shared.errors import PrefdexError

from ..progress import Advance, Progress

P = ParamSpec("P")

FAILED, INTERRUPTED = 1, 130

_EVENT_INTERVAL_S = 1.0

# Titles and preferences may hold brackets, which are no markup.
out = Console(highlight=False, markup=False)
err = Console(stderr=True, highlight=False, markup=False)

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON lines: progress, where there is any, and the result as the last one.")
]
EncoderOption = Annotated[str, typer.Option("--encoder", "-e", help="The encoder folder.", show_default=False)]
WorkspaceOption = Annotated[
    str, typer.Option("--workspace", "-w", help="The builder's folder, or s3://bucket/prefix.", show_default=False)
]
TrustOption = Annotated[Path, typer.Option("--trust", help="The publisher's root.json.", show_default=False)]
AudienceOption = Annotated[str, typer.Option("--audience", help="Whose bundle it must be.", show_default=False)]
AddressOption = Annotated[
    str | None, typer.Option("--address", help="Address of a Ray cluster.", show_default="a local Ray")
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Workers per stage.", show_default="one per CPU core")
]


def command(run: Callable[P, None]) -> Callable[P, None]:
    """Turn our own errors into two lines and an exit code."""

    @functools.wraps(run)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            run(*args, **kwargs)
        except PrefdexError as error:
            err.print(f"error: {error}", soft_wrap=True)
            hint = error.hint or "run it with --help, or see the README"
            err.print(f"  try: {hint}", soft_wrap=True)
            raise typer.Exit(FAILED) from None
        except KeyboardInterrupt:
            err.print("interrupted; what was finished is kept, and the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None

    return wrapped


def emit(value: object) -> None:
    """Print a record or a dict as one JSON object on one line."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    typer.echo(json.dumps(plain, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def example(line: str) -> str:
    """Return the end of a command's help: an example."""
    return f"Example: {line}"


def counts(title: str, heading: str, rows: Iterable[tuple[str, float]]) -> Table:
    """Return a table of names and numbers; whole numbers are shown as such."""
    table = Table(heading, "number", title=title, title_justify="left")
    table.columns[1].justify = "right"
    for name, number in rows:
        table.add_row(name, f"{number:,}" if isinstance(number, int) else f"{number:,.2f}")
    return table


def progress(as_json: bool) -> Progress:
    """Return what shows the progress of stages: events for machines, or bars for people."""
    return Events() if as_json else Bars()


class Events:
    """One JSON object per event on standard output, with the stage's name, and its steps so far and in all."""

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Advance]:
        """Begin a stage of `total` steps."""
        done, told = 0, time.monotonic()

        def advance(n: int) -> None:
            nonlocal done, told
            done += n
            if time.monotonic() - told >= _EVENT_INTERVAL_S:
                told = time.monotonic()
                emit({"event": "progress", "stage": name, "done": done, "total": total})

        emit({"event": "begin", "stage": name, "total": total})
        yield advance
        emit({"event": "end", "stage": name, "done": done, "total": total})


class Bars:
    """Progress bars on a terminal; plain lines elsewhere."""

    def __init__(self, console: Console = err) -> None:
        self._console = console

    @contextmanager
    def stage(self, name: str, total: int) -> Iterator[Advance]:
        """Begin a stage of `total` steps."""
        if not self._console.is_terminal:
            self._console.print(f"{name}: {total}")
            yield lambda _: None
            return
        columns = (TextColumn("{task.description:>8}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with RichProgress(*columns, console=self._console) as shown:
            task = shown.add_task(name, total=total)
            yield lambda n: shown.advance(task, n)
            shown.update(task, completed=total)
