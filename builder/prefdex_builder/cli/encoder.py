"""`prefdex encoder export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..encoders import export
from ..encoders.export import open_source
from .common import AsJson, command, emit, err, example, out

app = typer.Typer(no_args_is_help=True)


@app.callback()
def group() -> None:
    """What turns texts into vectors."""


@app.command("export", epilog=example("prefdex encoder export sentence-transformers/all-MiniLM-L6-v2 encoder/"))
@command
def run(
    model: Annotated[
        str,
        typer.Argument(
            help="A folder with model.onnx and tokenizer.json, or a sentence-transformers model (torch extra).",
            show_default=False,
        ),
    ],
    folder: Annotated[Path, typer.Argument(help="The new encoder folder.", show_default=False)],
    precision: Annotated[str, typer.Option(help="int8 (per channel) or fp32.")] = "int8",
    pooling: Annotated[str | None, typer.Option(help="mean or cls; overrides what the folder says.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Overrides what the folder says.", min=8)] = None,
    as_json: AsJson = False,
) -> None:
    """Turn a model into the encoder folder that builder and devices share."""
    source = open_source(model, pooling=pooling, max_tokens=max_tokens)
    if not as_json:
        err.print(f"exporting {source.name} as {precision}")
    report = export(source, folder, precision=precision)
    if as_json:
        emit(report)
        return
    out.print(f"{folder}: {report.dim} dimensions, {report.max_tokens} tokens, {report.model_bytes / 1e6:.1f} MB")
    out.print(
        f"parity with the source over {report.n_sentences} sentences: "
        f"cosine {report.mean_parity:.4f} mean, {report.min_parity:.4f} worst"
    )
    out.print(f"encoder id {report.encoder_id}")
