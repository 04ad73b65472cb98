"""What all benchmarks share: arguments, a table for people, one JSON object for machines, and the environment."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from prefdex_builder.demo.personas import SAMPLE

CACHE = Path(__file__).resolve().parents[1] / ".cache"
_LIBRARIES = ("prefdex", "numpy", "onnxruntime", "faiss-cpu", "tokenizers")


def arguments(
    description: str | None, more: Callable[[argparse.ArgumentParser], object] = lambda _: None
) -> argparse.Namespace:
    """Parse the arguments of a benchmark; `more` adds its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--personas", type=Path, default=SAMPLE, help="a persona file of the paper's form")
    parser.add_argument("--size", choices=("default", "full"), default="default")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    more(parser)
    return parser.parse_args()


def report(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], result: Mapping[str, object], *, as_json: bool
) -> None:
    """Print a benchmark's table and, where asked for, its JSON."""
    table = Table(*columns, title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row)
    Console(width=110, markup=False, highlight=False).print(table)
    if as_json:
        print(json.dumps({**result, "environment": environment()}))


def on_one_thread() -> None:
    """Start this process anew with one thread for linear algebra: threads that wait by spinning count as CPU time."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | one)


def environment() -> dict[str, object]:
    """Describe the machine and the libraries."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def cpu_ms(run: Callable[[], object]) -> float:
    """Return the CPU time of this process for one call, in milliseconds."""
    started = time.process_time_ns()
    run()
    return (time.process_time_ns() - started) / 1e6


def median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """Return the median of paired ratios."""
    return statistics.median(a / b for a, b in zip(numerators, denominators, strict=True))
