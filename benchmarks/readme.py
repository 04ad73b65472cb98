"""Runs the benchmarks on the sample personas, and writes their figures into the README."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_BEGIN, _END = "<!-- figures: begin -->\n", "<!-- figures: end -->"


def main() -> None:
    """Run the benchmarks and replace the README's table."""
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text(encoding="utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    table = _table(_run("bundle_size"), _run("retrieval_latency"))
    readme.write_text(f"{before}{_BEGIN}{table}{_END}{after}", encoding="utf-8")
    print(table)


def _run(name: str) -> dict[str, Any]:
    script = ROOT / "benchmarks" / f"{name}.py"
    done = subprocess.run([sys.executable, str(script), "--json"], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _table(size: dict[str, Any], latency: dict[str, Any]) -> str:
    rows = [
        ("size of a signed bundle", "the paper's index and JSONL, same entries", f"{size['ratio_vs_reference']:.2f}"),
        ("recall@5 of its int8 vectors", "float32 vectors", f"{size['recall_at_5_vs_float32']:.3f}"),
        ("time of a query", "the paper's retrieval, same encoder", f"1 / {latency['ratio_vs_reference']:.1f}"),
        ("time of a query", "encoding the question, and nothing else", f"{latency['ratio_vs_bare_encoder']:.2f}"),
    ]
    lines = ["| what | against | ratio |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
    scripts = "`benchmarks/bundle_size.py` and `benchmarks/retrieval_latency.py` on the sample personas"
    amounts = f"{size['chunks']:,} chunks, {size['entries_per_persona']:.0f} entries and {size['bundle_bytes']:,} bytes"
    return "\n".join([*lines, "", f"{scripts}: {amounts} a person.", ""])


if __name__ == "__main__":
    main()
