"""`prefdex calibrate`."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from rich.table import Table

from ..calibrating import CalibrateReport, Example, calibrate
from ..cluster import start
from ..workspace import Workspace
from . import options
from .common import AddressOption, AsJson, WorkersOption, command, emit, example, out, progress

_TEXT_SHOWN = 160


def register(app: typer.Typer) -> None:
    """Add the command."""
    line = "prefdex calibrate -w workspace/ -e encoder/ --preferences preferences.jsonl"
    app.command("calibrate", epilog=example(line))(run)


@command
def run(
    config: options.ConfigOption = None,
    workspace: options.Workspace = None,
    encoder: options.Encoder = None,
    preferences: options.Preferences = None,
    tau: options.Tau = None,
    max_candidates: options.MaxCandidates = None,
    min_candidates: options.MinCandidates = None,
    filter_engine: options.FilterEngine = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what thresholds around tau would keep and cost, with examples just above and just below it."""
    settings = options.read_settings(locals())
    users, where = options.read_wanted(settings), Workspace.at(settings.need("workspace"))
    with start(settings.cluster()) as session:
        report = calibrate(
            where,
            users,
            encoder=settings.need("encoder"),
            session=session,
            progress=progress(as_json),
            config=settings.build(),
        )
    if as_json:
        emit(report)
        return
    out.print(_table(report))
    _show("just above", report.above)
    _show("just below", report.below)


def _table(report: CalibrateReport) -> Table:
    columns = ("tau", "pairs", "median", "least", "starving", "capped", "LLM calls, at most")
    title = f"{report.preferences:,} preferences, {report.chunks:,} chunks"
    table = Table(*columns, title=title, title_justify="left")
    for column in table.columns:
        column.justify = "right"
    for each in report.thresholds:
        mark = "> " if each.tau == report.tau else ""
        counts = (each.candidates, each.median, each.least, each.starving, each.capped, each.llm_calls_at_most)
        table.add_row(f"{mark}{each.tau:.2f}", *(f"{count:,.0f}" for count in counts))
    return table


def _show(what: str, examples: Sequence[Example]) -> None:
    for each in examples:
        text = each.text if len(each.text) <= _TEXT_SHOWN else f"{each.text[:_TEXT_SHOWN]}..."
        out.print(f"{what}, {each.similarity:.4f}: {each.preference}\n  {each.title}: {text}")
