"""`prefdex submit`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from prefdex_shared.errors import ConfigurationError

from ..cluster.jobs import submit
from .common import AsJson, command, emit, err, example

_COMMANDS = ("build", "plan", "calibrate", "corpus")


def register(app: typer.Typer) -> None:
    """Add the command."""
    line = "prefdex submit --dashboard http://head:8265 build -c /shared/prefdex.toml"
    settings = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
    app.command("submit", epilog=example(line), context_settings=settings)(run)


@command
def run(
    context: typer.Context,
    dashboard: Annotated[
        str, typer.Option(help="Address of the cluster's dashboard.", show_default=True)
    ] = "http://127.0.0.1:8265",
    as_json: AsJson = False,
) -> None:
    """Run build, plan, calibrate or corpus on a running Ray cluster, and follow it.

    Nothing is uploaded: what the command names must be visible on the cluster, by the same path or in S3. Interrupted,
    this command ends, and the job goes on.
    """
    if not context.args or context.args[0] not in _COMMANDS:
        raise ConfigurationError("Nothing says what to run.", hint=f"Name a command: {', '.join(_COMMANDS)}.")
    report = submit(dashboard, [*context.args, "--json"], show=lambda line: err.print(line, soft_wrap=True))
    try:
        result = json.loads(report.last_line)
    except ValueError:
        result = report.last_line
    if as_json:
        emit({"job": report.job, "result": result})
        return
    err.print(f"job {report.job} is done")
