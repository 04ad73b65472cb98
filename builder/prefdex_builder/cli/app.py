"""All commands of `prefdex`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from . import build, calibrate, corpus, demo, encoder, inspect, keys, patch, plan, query, submit
from .common import example

app = typer.Typer(
    name="prefdex",
    help="Build a signed, personal index of a large corpus.",
    epilog=example("prefdex demo"),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
groups = {
    "corpus": (corpus.app, "What is indexed."),
    "encoder": (encoder.app, "What turns texts into vectors."),
    "keys": (keys.app, "What signs bundles."),
}
for name, (group, text) in groups.items():
    app.add_typer(group, name=name, help=text)
for module in (demo, calibrate, plan, build, submit, inspect, patch, query):
    module.register(app)


@app.callback(invoke_without_command=True)
def options(
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Build a signed, personal index of a large corpus."""
    if show_version:
        typer.echo(f"prefdex {version('prefdex')}")
        raise typer.Exit


def main() -> None:
    """Run the command."""
    app()
