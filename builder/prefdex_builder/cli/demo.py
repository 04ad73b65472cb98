"""`prefdex demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import demo
from ..cluster import ClusterConfig
from ..demo.run import DEFAULT_DOCUMENTS
from ..demo.show import show, summary
from .build import funnel_table
from .common import AddressOption, AsJson, WorkersOption, command, emit, example, out, progress
from .corpus import add_table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog=example("prefdex demo --folder .demo"))(run)


@command
def run(
    folder: Annotated[Path, typer.Option(help="Where everything is kept.")] = Path(".demo"),
    documents: Annotated[int, typer.Option(help="Documents of the corpus.", min=10)] = DEFAULT_DOCUMENTS,
    full: Annotated[bool, typer.Option("--full", help="Take all documents, about 13,000.")] = False,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Go the whole way: corpora, encoder, bundles for three users, steered answers, a patch.

    Killed at any moment and run again, it goes on where it was.
    """
    config = demo.DemoConfig(folder, None if full else documents, ClusterConfig(address, workers))
    result = demo.run(config, progress(as_json))
    show(result, out, [add_table(result.added), funnel_table(result.built)])
    if as_json:
        emit(summary(result))
