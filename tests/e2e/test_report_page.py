"""`report.html`, as a person sees it: in a browser, from one file."""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from prefdex_builder.reporting.summary import BIN, Summary, summarize
from prefdex_builder.stages.verify import Outcome
from prefdex_shared.records import Chunk, Failure, Pair, Preference, Verdict
from support.place import CONFIG, InlineSession, Place

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Path]:
    place = Place(tmp_path, InlineSession(random.Random(2)))
    rows = [{"id": str(n), "title": f"About tea {HOSTILE}", "text": f"I like tea {n} {HOSTILE}"} for n in range(60)]
    place.add(rows)
    place.build({"u-1": [f"I like tea {HOSTILE}", "I like trains"], "u-2": ["I like trains"]}, CONFIG)
    return tmp_path / "workspace/report.html"


def test_nothing_from_elsewhere_and_nothing_of_a_document_runs(page: Path) -> None:
    html = page.read_text(encoding="utf-8")
    assert not re.findall(r"<(?:script|img|link|iframe|object)\b", html)
    assert not re.findall(r"\b(?:src|href)=[\"'](?!#)", html)
    assert "&lt;script&gt;" in html
    assert "default-src &#39;none&#39;" in html or "default-src 'none'" in html


@needs_browser
def test_it_is_a_page(page: Path, tmp_path: Path) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    shot = tmp_path / "page.png"
    command = [CHROMIUM, *options, "--window-size=1000,2000", f"--screenshot={shot}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    # An empty page of that size has a tenth of it.
    assert shot.stat().st_size > 40_000
    done = subprocess.run(
        [CHROMIUM, *options, "--dump-dom", page.as_uri()], check=True, capture_output=True, text=True, timeout=120
    )
    assert "<title>prefdex build</title>" in done.stdout
    assert done.stdout.count("<svg") == 3
    assert [text in done.stdout for text in ("u-1", "u-2", "tau 0.15", "candidate pairs")] == [True] * 4


def test_a_summary_counts_by_fate_and_similarity() -> None:
    preference = Preference("I like tea")
    outcomes = [
        Outcome(Verdict(True, "good", 0.9), "Read it."),
        Outcome(Verdict(False, "off", 0.8)),
        Outcome(None, None, Failure("judge", "too long")),
        Outcome(Verdict(True, "good", 0.9), None, Failure("write", "empty")),
    ]
    similarities = (0.4, 0.26, 0.2599, -0.01)
    pairs = [
        (Pair(Chunk("x" * 1_000, "Title"), preference, similarity), outcome)
        for similarity, outcome in zip(similarities, outcomes, strict=True)
    ]
    summary = summarize(preference, pairs)
    assert summary.histogram == {"kept": {20: 1}, "discarded": {13: 1}, "failed": {12: 1, -1: 1}}
    assert round(13 * BIN, 4) == 0.26
    assert [(each.fate, each.reason, each.instruction) for each in summary.samples] == [
        ("kept", "good", "Read it."),
        ("discarded", "off", ""),
        ("failed", "too long", ""),
        ("failed", "empty", ""),
    ]
    assert all(len(each.text) == 401 for each in summary.samples)
    assert Summary.from_json(summary.to_json()) == summary
