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
    as_json: AsJson = False,
) -> None:
    """Verify a bundle, and show what it holds."""
    data = files.read(bundle, "bundle", MAX_CONTAINER_BYTES)
    root = files.read(trust, "trust anchor", MAX_METADATA_BYTES)
    description = describe(data, trust=root, audience=audience)
    if as_json:
        emit(description)
        return
    out.print(
        f"{bundle}: version {description.version}, {description.bundle_bytes:,} bytes, for {description.audience}"
    )
    state = "stale since" if description.stale else "valid until"
    out.print(f"{state} {description.expires:%Y-%m-%d}, signed by {', '.join(description.signed_by)}")
    out.print(f"encoder {description.encoder_id}, judged and written by {description.llm}")
    out.print(_table(description))


def _table(description: BundleDescription) -> Table:
    table = Table("preference", "entries", "bytes", "best entry")
    for column in table.columns[1:3]:
        column.justify = "right"
    for each in description.shards:
        table.add_row(each.preference, f"{each.n_entries:,}", f"{each.n_bytes:,}", each.best_title)
    return table
