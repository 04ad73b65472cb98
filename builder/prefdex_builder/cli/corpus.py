"""`prefdex corpus add`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from prefdex_shared.chunking import ChunkConfig

from ..adding import add_corpus
from ..cluster import ClusterConfig, start
from ..report import AddReport
from ..workspace import Workspace
from .common import (
    AddressOption,
    AsJson,
    Bars,
    EncoderOption,
    WorkersOption,
    WorkspaceOption,
    command,
    emit,
    example,
    out,
)

app = typer.Typer(no_args_is_help=True)


@app.callback()
def group() -> None:
    """What is indexed."""


@app.command("add", epilog=example("prefdex corpus add articles/ -w workspace/ -e encoder/"))
@command
def add(
    sources: Annotated[
        list[str],
        typer.Argument(help="JSONL, Parquet or text: files, folders, globs, s3://bucket/prefix.", show_default=False),
    ],
    workspace: WorkspaceOption,
    encoder: EncoderOption,
    target_words: Annotated[int, typer.Option(help="Words per chunk.", min=1)] = ChunkConfig().target_words,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Read documents, cut them into chunks, and embed those that are new."""
    with start(ClusterConfig(address, workers)) as session:
        report = add_corpus(
            Workspace.at(workspace),
            sources,
            encoder=encoder,
            session=session,
            progress=Bars(),
            chunking=ChunkConfig(target_words=target_words),
        )
    if as_json:
        emit(report)
        return
    out.print(add_table(report))
    for line in report.examples:
        out.print(f"  {line}")


def add_table(report: AddReport) -> Table:
    """Return what was read as a table."""
    table = Table("corpus", "number", title=f"snapshot {report.snapshot}", title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("files", f"{report.files:,}")
    table.add_row("files of another kind", f"{report.skipped_files:,}")
    table.add_row("documents", f"{report.documents:,}")
    table.add_row("chunks", f"{report.chunks:,}")
    table.add_row("chunks embedded", f"{report.new_chunks:,}")
    for kind, number in report.faults.items():
        table.add_row(kind.replace("_", " "), f"{number:,}")
    return table
