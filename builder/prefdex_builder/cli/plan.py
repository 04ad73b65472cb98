"""`prefdex plan`."""

from __future__ import annotations

from dataclasses import replace

import typer
from rich.table import Table

from ..adding import count_new_chunks
from ..cluster import start
from ..planning import plan
from ..report import PlanReport
from ..workspace import Workspace
from . import options
from .common import AddressOption, AsJson, WorkersOption, command, counts, emit, example, out, progress

_USERS_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", epilog=example("prefdex plan -w workspace/ -e encoder/ --preferences preferences.jsonl"))(run)


@command
def run(
    config: options.ConfigOption = None,
    workspace: options.Workspace = None,
    encoder: options.Encoder = None,
    preferences: options.Preferences = None,
    changes: options.Changes = None,
    llm: options.Llm = None,
    tau: options.Tau = None,
    max_candidates: options.MaxCandidates = None,
    min_candidates: options.MinCandidates = None,
    filter_engine: options.FilterEngine = None,
    max_bundle_bytes: options.MaxBundleBytes = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    as_json: AsJson = False,
) -> None:
    """Print what `prefdex build` would do: candidates, calls, tokens and bytes. No language model is asked."""
    settings = options.read_settings(locals())
    users, where = options.read_wanted(settings), Workspace.at(settings.need("workspace"))
    with start(settings.cluster()) as session:
        n_new = 0
        if settings.sources:
            n_new = count_new_chunks(
                where,
                settings.sources,
                encoder=settings.need("encoder"),
                session=session,
                progress=progress(as_json),
                config=settings.corpus(),
            )
        report = plan(
            where,
            users,
            encoder=settings.need("encoder"),
            session=session,
            progress=progress(as_json),
            config=settings.build(),
        )
    report = replace(report, chunks_to_embed=n_new)
    if as_json:
        emit(report)
        return
    out.print(_table(report))
    for user in report.users[:_USERS_SHOWN]:
        n_missing = sum(each.is_missing for each in user.preferences)
        counts = f"{n_missing} of {len(user.preferences)} shards to build"
        out.print(f"{user.user}: {counts}, about {user.bundle_bytes:,} bytes")
    if (more := len(report.users) - _USERS_SHOWN) > 0:
        out.print(f"and {more:,} more users")


def _table(report: PlanReport) -> Table:
    return counts(
        f"with {report.llm.partition(',')[0]}",
        "would be done",
        [
            ("documents", report.documents),
            ("chunks", report.chunks),
            ("  new ones to embed, not searched yet", report.chunks_to_embed),
            ("distinct preferences", report.preferences),
            ("shards to build", report.shards_missing),
            ("  their candidate pairs", report.candidates),
            ("  pairs to judge", report.pairs_to_judge),
            ("LLM calls, expected", report.llm_calls),
            ("LLM calls, at most", report.llm_calls_at_most),
            ("  tokens of prompts, about", report.prompt_tokens),
            ("  tokens of answers, about", report.output_tokens),
            *([("  cost, about", report.cost)] if report.cost is not None else []),
        ],
    )
