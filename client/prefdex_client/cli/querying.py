"""`prefdex-client query`."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from prefdex_shared.steering import UNSTEERED, Scoring

from ..context import render_context
from ..hits import Hit
from ..memory import Memory
from ..store import DeviceStore
from .output import emit, say

KNOBS = tuple(field.name for field in dataclasses.fields(Scoring))


def run(options: argparse.Namespace) -> int:
    """Ask the questions."""
    memory = open_memory(options)
    scoring = _scoring(options, memory.stats().scoring)
    answers = [(question, memory.query(question, options.k, scoring=scoring)) for question in options.questions]
    if options.json:
        emit(_report(memory, answers))
    else:
        _print(memory, answers, as_context=options.context)
    return 0


def open_memory(options: argparse.Namespace) -> Memory:
    """Open the bundle, or the store, that the arguments name."""
    if Path(options.bundle).is_dir():
        store = DeviceStore.open(
            options.bundle, trust=options.trust, audience=options.audience, encoder=options.encoder
        )
        return store.memory()
    return Memory.open(
        options.bundle,
        trust=options.trust,
        encoder=options.encoder,
        audience=options.audience,
        min_version=options.min_version,
    )


def _scoring(options: argparse.Namespace, default: Scoring) -> Scoring:
    if options.unsteered:
        return UNSTEERED
    given = {knob: getattr(options, knob) for knob in KNOBS if getattr(options, knob) is not None}
    return dataclasses.replace(default, **given)


def _report(memory: Memory, answers: list[tuple[str, list[Hit]]]) -> dict[str, object]:
    stats = memory.stats()
    return {
        "version": stats.version,
        "stale": stats.stale,
        "llm": stats.llm,
        "answers": [{"question": question, "hits": hits} for question, hits in answers],
    }


def _print(memory: Memory, answers: list[tuple[str, list[Hit]]], *, as_context: bool) -> None:
    for question, hits in answers:
        if as_context:
            say(render_context(hits))
            continue
        say(question)
        for hit in hits:
            say(f"  {hit.score:.3f}  {hit.title or hit.text[:60]}")
            for match in hit.matches:
                say(f"         {match.instruction}")
                say(f"         for: {match.preference}")
        if not hits:
            say("  nothing: no chunk was kept for these preferences")
    if not as_context:
        stats = memory.stats()
        stale = f", stale since {stats.expires:%Y-%m-%d}" if stats.stale else ""
        say(f"version {stats.version}{stale}; judged and written by {stats.llm}")
