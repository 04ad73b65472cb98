"""`prefdex inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from prefdex_shared import files
from prefdex_shared.container import MAX_CONTAINER_BYTES, MAX_METADATA_BYTES
from prefdex_shared.describing import BundleDescription, describe

from .common import AsJson, AudienceOption, TrustOption, command, emit, example, out


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("inspect", epilog=example("prefdex inspect u-4711.pdx --trust keys/root.json --audience u-4711"))(run)


@command
def run(
    bundle: Annotated[Path, typer.Argument(help="A .pdx file.", show_default=False)],
    trust: TrustOption,
    audience: AudienceOption,
    verify_only: Annotated[
        bool, typer.Option("--verify-only", help="Verify, and print one line without any content.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Verify a bundle, and show what it holds.

    Exit code 0 says that it is whole, signed for this user, and readable; it may still be stale.
    """
    data = files.read(bundle, "bundle", MAX_CONTAINER_BYTES)
    root = files.read(trust, "trust anchor", MAX_METADATA_BYTES)
    description = describe(data, trust=root, audience=audience)
    if as_json:
        emit(description.verdict_fields() if verify_only else description)
    elif verify_only:
        out.print(description.verdict())
    else:
        _show(description)


def _show(description: BundleDescription) -> None:
    for name, value in description.rows():
        out.print(f"{name:<9} {value}", soft_wrap=True)
    table = Table("preference", "entries", "bytes", "best examples")
    for column in table.columns[1:3]:
        column.justify = "right"
    for each in description.shards:
        table.add_row(each.preference, f"{each.n_entries:,}", f"{each.n_bytes:,}", "\n".join(each.examples))
    out.print(table)
