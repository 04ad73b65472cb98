"""`report.html`: one file that needs nothing else, to be opened in any browser. It holds preferences and texts."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources

from jinja2 import Environment

from ..config import BuildConfig
from ..report import BuildReport
from ..workspace import ShardRecord
from .summary import BIN, FATES, Summary

REPORT_FILE = "report.html"
MAX_SHOWN = 100
"""Preferences, and users, that are shown one by one."""

_COLORS = {"kept": "#2a7f62", "discarded": "#b8b8b8", "failed": "#c8553d"}
_WIDTH, _HEIGHT = 6.4, 1.8


def render(report: BuildReport, shards: Sequence[tuple[Summary, ShardRecord]], config: BuildConfig) -> str:
    """Return the page.

    Args:
        report: What the build did.
        shards: Of each distinct preference.
        config: Settings.
    """
    # Everything that is not the template's own is escaped.
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        resources.files(__package__).joinpath("report.html.jinja").read_text(encoding="utf-8")
    )
    whole = {fate: sum((Counter(each.histogram.get(fate, {})) for each, _ in shards), Counter[int]()) for fate in FATES}
    tau = config.filtering.tau
    return template.render(
        report=report,
        config=config,
        funnel=_funnel(report),
        histogram=_histogram(whole, tau),
        preferences=[(each, record, _histogram(each.histogram, tau)) for each, record in shards[:MAX_SHOWN]],
        n_preferences=len(shards),
        users=report.users[:MAX_SHOWN],
        fates=FATES,
    )


def _funnel(report: BuildReport) -> list[tuple[str, int, float]]:
    """Return the steps with their numbers, and those of pairs as a share of the first."""
    before = [("documents", report.documents), ("chunks", report.chunks)]
    pairs = [("candidate pairs", report.candidates), ("kept by the judge", report.kept), ("entries", report.entries)]
    after = [("bytes of all bundles", sum(user.bundle_bytes for user in report.users))]
    most = max(report.candidates, 1)
    shares = [(name, number, number / most) for name, number in pairs]
    return [*((*each, 0.0) for each in before), *shares, *((*each, 0.0) for each in after)]


def _histogram(histogram: Mapping[str, Mapping[int, int]], tau: float) -> str:
    """Return a stacked histogram of similarities as SVG; empty if there is nothing to show."""
    bins = sorted({at for counts in histogram.values() for at in counts})
    if not bins:
        return ""
    import matplotlib as mpl
    from matplotlib.figure import Figure  # no window, no global state

    with mpl.rc_context({"svg.hashsalt": "prefdex", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.add_subplot()
        places = range(bins[0], bins[-1] + 1)
        lefts, bottoms = [at * BIN for at in places], [0] * len(places)
        for fate in FATES:
            counts = [histogram.get(fate, {}).get(at, 0) for at in places]
            axes.bar(lefts, counts, BIN, bottoms, align="edge", color=_COLORS[fate], label=fate)
            bottoms = [a + b for a, b in zip(bottoms, counts, strict=True)]
        axes.axvline(tau, color="black", linewidth=1, linestyle="--", label=f"tau {tau:g}")
        axes.set_xlabel("cosine similarity")
        axes.set_ylabel("pairs")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper right")
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]
