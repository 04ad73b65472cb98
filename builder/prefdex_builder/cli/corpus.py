"""`prefdex corpus add` and `prefdex corpus remove`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from prefdex_shared import files
from prefdex_shared.errors import ConfigurationError

from ..adding import add_corpus
from ..cluster import start
from ..config import CorpusConfig
from ..removing import remove_documents
from ..report import AddReport
from ..workspace import Workspace
from . import options
from .common import (
    AddressOption,
    AsJson,
    WorkersOption,
    command,
    counts,
    emit,
    example,
    out,
    progress,
)

app = typer.Typer(no_args_is_help=True)

_MAX_LIST_BYTES = 1 << 28


@app.callback()
def group() -> None:
    """What is indexed."""


@app.command("add", epilog=example("prefdex corpus add articles/ -w workspace/ -e encoder/"))
@command
def add(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            help="JSONL, Parquet or text: files, folders, globs, s3://bucket/prefix.",
            show_default="those of prefdex.toml",
        ),
    ] = None,
    config: options.ConfigOption = None,
    workspace: options.Workspace = None,
    encoder: options.Encoder = None,
    target_words: Annotated[
        int | None, typer.Option(help="Words per chunk.", min=1, show_default=str(CorpusConfig().target_words))
    ] = None,
    embedder: Annotated[
        str | None, typer.Option(help="On GPUs torch:MODEL, the encoder's own model.", show_default="the encoder")
    ] = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Read documents, cut them into chunks, and embed those that are new."""
    settings = options.read_settings(locals())
    wanted = list(sources or settings.sources)
    if not wanted:
        raise ConfigurationError("Nothing says what to add.", hint="Give files or folders, or sources in prefdex.toml.")
    where, encoder_folder = Workspace.at(settings.need("workspace")), settings.need("encoder")
    with start(settings.cluster()) as session:
        report = add_corpus(
            where,
            wanted,
            encoder=encoder_folder,
            session=session,
            progress=progress(as_json),
            config=settings.corpus(),
        )
    if as_json:
        emit(report)
        return
    out.print(add_table(report))
    for line in report.examples:
        out.print(f"  {line}")


@app.command("remove", epilog=example("prefdex corpus remove article-17 -w workspace/"))
@command
def remove(
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of documents.", show_default=False)] = None,
    *,
    config: options.ConfigOption = None,
    workspace: options.Workspace = None,
    ids_from: Annotated[
        Path | None, typer.Option("--from", help="A file with an id per line.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take documents out of the corpus; the next build takes what came of them out of all bundles."""
    settings = options.read_settings(locals())
    wanted = list(ids or [])
    if ids_from is not None:
        wanted += files.read(ids_from, "list of ids", _MAX_LIST_BYTES).decode("utf-8", "replace").splitlines()
    wanted = [each for each in wanted if each]
    if not wanted:
        raise ConfigurationError("No document is named.", hint="Give ids, or --from FILE.")
    report = remove_documents(Workspace.at(settings.need("workspace")), wanted)
    if as_json:
        emit(report)
        return
    out.print(f"snapshot {report.snapshot}: {report.documents:,} documents and {report.chunks:,} chunks removed")


def add_table(report: AddReport) -> Table:
    """Return what was read as a table."""
    return counts(
        f"snapshot {report.snapshot}",
        "corpus",
        [
            ("files", report.files),
            ("files of another kind", report.skipped_files),
            ("documents", report.documents),
            ("chunks", report.chunks),
            ("chunks embedded", report.new_chunks),
            *((kind.replace("_", " "), number) for kind, number in report.faults.items()),
        ],
    )
