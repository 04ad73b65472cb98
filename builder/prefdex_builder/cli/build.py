"""`prefdex build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ..adding import add_corpus
from ..cluster import start
from ..config import MAX_VALID_DAYS, BuildConfig
from ..pipeline import build
from ..report import BuildReport
from ..signing import BundleSigner
from ..workspace import Workspace
from . import options
from .common import AddressOption, AsJson, WorkersOption, command, emit, example, out, progress

_EXAMPLE = example("prefdex build -w workspace/ -e encoder/ --preferences preferences.jsonl --keys keys/")
_BUILD = BuildConfig()
_USERS_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("build", epilog=_EXAMPLE)(run)


@command
def run(
    config: options.ConfigOption = None,
    workspace: options.Workspace = None,
    encoder: options.Encoder = None,
    preferences: options.Preferences = None,
    keys: Annotated[str | None, typer.Option(help="The keys folder.", show_default=False)] = None,
    changes: options.Changes = None,
    signer: Annotated[
        str | None, typer.Option(help="URI of the targets key.", show_default="targets.pem of the keys folder")
    ] = None,
    llm: options.Llm = None,
    tau: options.Tau = None,
    max_candidates: options.MaxCandidates = None,
    min_candidates: options.MinCandidates = None,
    filter_engine: options.FilterEngine = None,
    valid_days: Annotated[
        int | None,
        typer.Option(
            help="Days until a bundle expires.", min=1, max=MAX_VALID_DAYS, show_default=str(_BUILD.valid_days)
        ),
    ] = None,
    max_bundle_bytes: options.MaxBundleBytes = None,
    max_failed_share: Annotated[
        float | None,
        typer.Option(
            help="Fail above this share of failed pairs.", min=0, max=1, show_default=str(_BUILD.max_failed_share)
        ),
    ] = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Build what is missing, and give each user a signed bundle; sources of prefdex.toml are added first."""
    settings = options.read_settings(
        config,
        workspace=workspace,
        encoder=encoder,
        preferences=preferences,
        changes=changes,
        keys=keys,
        signer=signer,
        uri=llm,
        tau=tau,
        max_candidates=max_candidates,
        min_candidates=min_candidates,
        engine=filter_engine,
        valid_days=valid_days,
        max_bundle_bytes=max_bundle_bytes,
        max_failed_share=max_failed_share,
        address=address,
        n_workers=workers,
    )
    users = options.read_wanted(settings)
    bundle_signer = BundleSigner.from_folder(Path(settings.need("keys")), settings.places.get("signer"))
    where = Workspace.at(settings.need("workspace"))
    with start(settings.cluster()) as session:
        if settings.sources:
            add_corpus(
                where,
                settings.sources,
                encoder=settings.need("encoder"),
                session=session,
                progress=progress(as_json),
                config=settings.corpus(),
            )
        report = build(
            where,
            users,
            encoder=settings.need("encoder"),
            signer=bundle_signer,
            session=session,
            progress=progress(as_json),
            config=settings.build(),
        )
    if as_json:
        emit(report)
        return
    out.print(funnel_table(report))
    for user in report.users[:_USERS_SHOWN]:
        state = "new" if user.is_new else "unchanged"
        out.print(f"{user.user}: version {user.version} ({state}), {user.bundle_bytes:,} bytes, {user.path}")
        # By number, since a terminal's output is kept in many places.
        for number, preference in enumerate(user.preferences, 1):
            if preference.left_out:
                kept = preference.entries - preference.left_out
                out.print(f"  preference {number}: the budget keeps {kept:,} of {preference.entries:,} entries")
    out.print(f"the whole report, with texts: {report.page}")
    if more := report.users[_USERS_SHOWN:]:
        out.print(f"and {len(more):,} more users, {sum(user.is_new for user in more):,} of them with a new version")


def funnel_table(report: BuildReport) -> Table:
    """Return what was kept at each step as a table."""
    table = Table("step", "number", title=f"judged and written by {report.llm.partition(',')[0]}", title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("documents", f"{report.documents:,}")
    table.add_row("chunks", f"{report.chunks:,}")
    table.add_row("distinct preferences", f"{report.preferences:,}")
    table.add_row("shards to build", f"{report.shards_built:,}")
    table.add_row("candidate pairs", f"{report.candidates:,}")
    table.add_row("  kept", f"{report.kept:,}")
    table.add_row("  discarded", f"{report.discarded:,}")
    for reason, number in report.failed.items():
        table.add_row(f"  failed: {reason}", f"{number:,}")
    table.add_row("LLM calls", f"{report.llm_calls:,}")
    if report.llm_calls:
        table.add_row("  tokens of prompts, about", f"{report.prompt_tokens:,}")
        table.add_row("  tokens of answers, about", f"{report.output_tokens:,}")
    if report.cost is not None:
        table.add_row("  cost", f"{report.cost:,.2f}")
    table.add_row("entries", f"{report.entries:,}")
    table.add_row("bytes of all bundles", f"{sum(user.bundle_bytes for user in report.users):,}")
    for stage, seconds in report.seconds.items():
        table.add_row(f"seconds: {stage}", f"{seconds:,.1f}")
    return table
