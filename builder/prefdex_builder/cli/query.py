"""`prefdex query`: the device's own program, so that what is shown here is what a device would answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..device import Device
from .common import AsJson, AudienceOption, EncoderOption, TrustOption, command, example


def register(app: typer.Typer) -> None:
    """Add the command."""
    line = "prefdex query u-4711.pdx 'What shall I cook?' --trust keys/root.json -e encoder/ --audience u-4711"
    app.command("query", epilog=example(line))(run)


@command
def run(
    bundle: Annotated[Path, typer.Argument(help="A .pdx file.", show_default=False)],
    questions: Annotated[list[str], typer.Argument(help="One or more questions.", show_default=False)],
    trust: TrustOption,
    encoder: EncoderOption,
    audience: AudienceOption,
    k: Annotated[int, typer.Option("-k", help="Chunks per question.", min=1)] = 5,
    unsteered: Annotated[bool, typer.Option("--unsteered", help="Search with the question as it is asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a bundle questions, as a device would."""
    options = [*(["--unsteered"] if unsteered else []), *(["--json"] if as_json else [])]
    raise typer.Exit(Device(bundle, trust, encoder, audience).print_answers(questions, k=k, options=options))
