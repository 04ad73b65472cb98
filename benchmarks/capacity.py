"""What a deployment of a given size takes, computed from the constants of one chunk, one pair and one user.

    python benchmarks/capacity.py --chunks 1e8 --users 1e6 --gpus 8

Constants that were measured say with what; those of GPUs were not, and are assumptions that the options replace. The
arithmetic is the design's: the filter is a product of all distinct preferences with all chunks, language-model work
follows distinct (preference, chunk) pairs, signing follows users.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Constants:
    """What one of each takes.

    Attributes:
        embed_per_cpu_s: Chunks per CPU-second (`embedding.py`).
        embed_per_gpu_s: Chunks per GPU-second; assumed, never run.
        filter_cpu_gflops: Useful GFLOP/s of the filter on one core (`coarse_filter.py`: 0.87 of a bare product).
        filter_gpu_gflops: The same on a GPU, in float32; assumed, never run.
        llm_calls_per_gpu_s: Short prompts with a shared prefix that a small model answers; assumed, never run.
        calls_per_pair: A verdict, and an instruction for those that are kept (`scale.py`: 1.6).
        sign_ms: Making one bundle (`scale.py`).
        renew_ms: Signing a bundle's metadata again; no more than making it.
        chunk_bytes: A stored chunk: its text, compressed, and a float16 vector of 384 components.
        pair_bytes: A stored verdict and instruction.
        bundle_bytes: A bundle of ten preferences (`bundle_size.py`).
        driver_bytes_per_chunk: Memory of the driver for one live chunk's id, title and source.
        files_per_preference: Files that a workspace holds for one: candidates, key, entries, summary, shard.
    """

    embed_per_cpu_s: float = 82.0
    embed_per_gpu_s: float = 3_000.0
    filter_cpu_gflops: float = 85.0
    filter_gpu_gflops: float = 20_000.0
    llm_calls_per_gpu_s: float = 50.0
    calls_per_pair: float = 1.6
    sign_ms: float = 1.0
    renew_ms: float = 1.0
    chunk_bytes: int = 1_100
    pair_bytes: int = 400
    bundle_bytes: int = 150_000
    driver_bytes_per_chunk: int = 400
    files_per_preference: int = 5


@dataclass(frozen=True, slots=True)
class Deployment:
    """How large it is.

    Attributes:
        chunks: Of the corpus.
        users: Whom it is built for.
        preferences_per_user: Of each.
        distinct_share: Share of all users' preferences that are distinct.
        pairs_per_preference: Candidates of one preference, under the cap.
        gpus: GPUs.
        cpus: CPU cores.
        growth_per_day: Share of the corpus that is new each day.
        changes_per_day: Share of preferences that change each day.
        valid_days: Days until a bundle expires; it is renewed after half of them.
    """

    chunks: float
    users: float
    preferences_per_user: float
    distinct_share: float
    pairs_per_preference: float
    gpus: float
    cpus: float
    growth_per_day: float
    changes_per_day: float
    valid_days: float

    @property
    def distinct(self) -> float:
        """Distinct preferences."""
        return self.users * self.preferences_per_user * self.distinct_share


_DIM, _DAY_S, _HOUR_S = 384, 86_400.0, 3_600.0


def simulate(size: Deployment, one: Constants) -> dict[str, float]:
    """Return what the first build and each day after it take, in hours, bytes and files."""
    embed_per_s = max(size.gpus * one.embed_per_gpu_s, size.cpus * one.embed_per_cpu_s)
    gflops = max(size.gpus * one.filter_gpu_gflops, size.cpus * one.filter_cpu_gflops)
    calls_per_s = max(size.gpus, 1e-9) * one.llm_calls_per_gpu_s

    def filter_hours(preferences: float, chunks: float) -> float:
        return 2 * _DIM * preferences * chunks / (gflops * 1e9) / _HOUR_S

    pairs = size.distinct * size.pairs_per_preference
    new_chunks, new_preferences = size.chunks * size.growth_per_day, size.distinct * size.changes_per_day
    new_pairs = pairs * size.growth_per_day + new_preferences * size.pairs_per_preference
    renewals = size.users / (size.valid_days / 2)
    changed_users = size.users * min(1.0, size.preferences_per_user * size.changes_per_day)
    return {
        "distinct_preferences": size.distinct,
        "pairs": pairs,
        "embed_hours": size.chunks / embed_per_s / _HOUR_S,
        "filter_hours": filter_hours(size.distinct, size.chunks),
        "llm_hours": pairs * one.calls_per_pair / calls_per_s / _HOUR_S,
        "sign_hours": size.users * one.sign_ms / 1e3 / size.cpus / _HOUR_S,
        "daily_embed_hours": new_chunks / embed_per_s / _HOUR_S,
        "daily_filter_hours": filter_hours(size.distinct, new_chunks) + filter_hours(new_preferences, size.chunks),
        "daily_llm_hours": new_pairs * one.calls_per_pair / calls_per_s / _HOUR_S,
        "daily_sign_hours": (changed_users * one.sign_ms + renewals * one.renew_ms) / 1e3 / size.cpus / _HOUR_S,
        "renewals_per_day": renewals,
        "corpus_gb": size.chunks * one.chunk_bytes / 1e9,
        "answers_gb": pairs * one.pair_bytes / 1e9,
        "bundles_gb": size.users * one.bundle_bytes / 1e9,
        "driver_gb": size.chunks * one.driver_bytes_per_chunk / 1e9,
        "files": size.distinct * one.files_per_preference + size.users,
    }


def main() -> None:
    """Print what a deployment takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=float, default=1e8)
    parser.add_argument("--users", type=float, default=1e6)
    parser.add_argument("--preferences-per-user", type=float, default=10)
    parser.add_argument("--distinct-share", type=float, default=0.1)
    parser.add_argument("--pairs-per-preference", type=float, default=100)
    parser.add_argument("--gpus", type=float, default=8)
    parser.add_argument("--cpus", type=float, default=64)
    parser.add_argument("--growth-per-day", type=float, default=0.001)
    parser.add_argument("--changes-per-day", type=float, default=0.001)
    parser.add_argument("--valid-days", type=float, default=365)
    for name, value in asdict(Constants()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    given = vars(parser.parse_args())
    as_json = given.pop("json")
    constants = Constants(**{name: given.pop(name) for name in Constants.__slots__})
    result = simulate(Deployment(**given), constants)
    table = Table("what", "number", title=", ".join(f"{name} {value:g}" for name, value in given.items()))
    table.columns[1].justify = "right"
    for name, value in result.items():
        table.add_row(name.replace("_", " "), f"{value:,.1f}" if value < 1e5 else f"{value:.2e}")
    Console(width=110).print(table)
    if as_json:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
