"""`prefdex build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from prefdex_shared.filtering import FilterConfig

from ..cluster import ClusterConfig, start
from ..config import MAX_VALID_DAYS, BuildConfig
from ..engines import LLMConfig
from ..pipeline import build
from ..preferences import apply_changes, read_changes, read_users
from ..report import BuildReport
from ..signing import BundleSigner
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

_FILTER, _BUILD = FilterConfig(), BuildConfig()
_EXAMPLE = example("prefdex build -w workspace/ -e encoder/ --preferences preferences.jsonl --keys keys/")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("build", epilog=_EXAMPLE)(run)


@command
def run(
    workspace: WorkspaceOption,
    encoder: EncoderOption,
    preferences: Annotated[
        Path, typer.Option(help='A line per user: JSON with "user" and "preferences".', show_default=False)
    ],
    keys: Annotated[Path, typer.Option(help="The keys folder.", show_default=False)],
    changes: Annotated[
        Path | None,
        typer.Option(help="Lines of `prefdex-client changes --json`, on top of the preferences.", show_default=False),
    ] = None,
    signer: Annotated[
        str | None, typer.Option(help="URI of the targets key.", show_default="targets.pem of the keys folder")
    ] = None,
    llm: Annotated[str, typer.Option(help="extractive: or llamacpp:FILE.gguf")] = _BUILD.llm.uri,
    tau: Annotated[float, typer.Option(help="Least cosine similarity of a candidate.")] = _FILTER.tau,
    max_candidates: Annotated[int, typer.Option(help="Per preference.", min=1)] = _FILTER.max_candidates,
    min_candidates: Annotated[
        int, typer.Option(help="Per preference, below tau if need be.", min=0)
    ] = _FILTER.min_candidates,
    valid_days: Annotated[
        int, typer.Option(help="Days until a bundle expires.", min=1, max=MAX_VALID_DAYS)
    ] = _BUILD.valid_days,
    max_bundle_bytes: Annotated[
        int | None, typer.Option(help="Cap of each .pdx file: the least valuable entries stay out.", min=1)
    ] = _BUILD.max_bundle_bytes,
    max_failed_share: Annotated[
        float, typer.Option(help="Fail above this share of failed pairs.", min=0, max=1)
    ] = _BUILD.max_failed_share,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Build what is missing, and give each user a signed bundle."""
    users = apply_changes(read_users(preferences), read_changes(changes) if changes else [])
    config = BuildConfig(
        filtering=FilterConfig(tau, max_candidates, min_candidates),
        llm=LLMConfig(llm),
        valid_days=valid_days,
        max_bundle_bytes=max_bundle_bytes,
        max_failed_share=max_failed_share,
    )
    bundle_signer = BundleSigner.from_folder(keys, signer)
    with start(ClusterConfig(address, workers)) as session:
        report = build(
            Workspace.at(workspace),
            users,
            encoder=encoder,
            signer=bundle_signer,
            session=session,
            progress=Bars(),
            config=config,
        )
    if as_json:
        emit(report)
        return
    out.print(funnel_table(report))
    for user in report.users:
        state = "new" if user.is_new else "unchanged"
        out.print(f"{user.user}: version {user.version} ({state}), {user.bundle_bytes:,} bytes, {user.path}")
        # By number, since a terminal's output is kept in many places.
        for number, preference in enumerate(user.preferences, 1):
            if preference.left_out:
                kept = preference.entries - preference.left_out
                out.print(f"  preference {number}: the budget keeps {kept:,} of {preference.entries:,} entries")


def funnel_table(report: BuildReport) -> Table:
    """Return what was kept at each step as a table."""
    table = Table("step", "number", title=f"judged and written by {report.llm.partition(',')[0]}", title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("chunks", f"{report.chunks:,}")
    table.add_row("distinct preferences", f"{report.preferences:,}")
    table.add_row("shards to build", f"{report.shards_built:,}")
    table.add_row("candidate pairs", f"{report.candidates:,}")
    table.add_row("  kept", f"{report.kept:,}")
    table.add_row("  discarded", f"{report.discarded:,}")
    for reason, number in report.failed.items():
        table.add_row(f"  failed: {reason}", f"{number:,}")
    table.add_row("LLM calls", f"{report.llm_calls:,}")
    table.add_row("entries", f"{report.entries:,}")
    return table
