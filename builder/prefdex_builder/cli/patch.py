"""`prefdex patch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..patching import make_patch
from .common import AsJson, command, emit, example, out


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("patch", epilog=example("prefdex patch users/u-4711/1.pdx users/u-4711/2.pdx -o patch.pdx"))(run)


@command
def run(
    old: Annotated[Path, typer.Argument(help="The .pdx that the device has.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="A newer .pdx of the same user.", show_default=False)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write.", show_default="USER-OLD-to-NEW.pdx")
    ] = None,
    trust: Annotated[
        Path | None, typer.Option(help="Verify both with this root.json first.", show_default="left to the device")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write what a device that has OLD needs to have NEW: the shards that OLD lacks, and newer root metadata.

    It is a .pdx too; the device applies it, and has the same files as after a fresh download.
    """
    report = make_patch(old, new, output, trust=trust)
    if as_json:
        emit(report)
        return
    share = report.patch_bytes / report.bundle_bytes
    out.print(f"{report.path}: version {report.from_version} to {report.to_version} of {report.audience}")
    out.print(f"{report.patch_bytes:,} bytes, {share:.0%} of the whole bundle; {len(report.files)} files travel")
