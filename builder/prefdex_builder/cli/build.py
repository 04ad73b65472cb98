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
from .common import AddressOption, AsJson, WorkersOption, command, counts, emit, example, out, progress

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
    settings = options.read_settings(locals())
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
    """Return what was kept at each step, and what it took, as a table."""
    took = [("LLM calls", report.llm_calls)]
    if report.llm_calls:
        took.append(("  tokens of prompts, about", report.prompt_tokens))
        took.append(("  tokens of answers, about", report.output_tokens))
    return counts(
        f"judged and written by {report.llm.partition(',')[0]}",
        "step",
        [
            ("documents", report.documents),
            ("chunks", report.chunks),
            ("distinct preferences", report.preferences),
            ("shards to build", report.shards_built),
            ("candidate pairs", report.candidates),
            ("  kept", report.kept),
            ("  discarded", report.discarded),
            *((f"  failed: {reason}", number) for reason, number in report.failed.items()),
            *took,
            *([("  cost", report.cost)] if report.cost is not None else []),
            ("entries", report.entries),
            ("bytes of all bundles", sum(user.bundle_bytes for user in report.users)),
            *((f"seconds: {stage}", float(seconds)) for stage, seconds in report.seconds.items()),
        ],
    )
