"""A workspace, keys and a corpus in a folder of a test, and stages that run without Ray."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from prefdex_builder.adding import add_corpus
from prefdex_builder.cluster import Session
from prefdex_builder.cluster.stage import Stage
from prefdex_builder.config import BuildConfig
from prefdex_builder.engines import LLMConfig
from prefdex_builder.pipeline import build
from prefdex_builder.planning import plan
from prefdex_builder.preferences import make_user
from prefdex_builder.progress import Silent
from prefdex_builder.removing import remove_documents
from prefdex_builder.report import AddReport, BuildReport, PlanReport, RemoveReport
from prefdex_builder.signing import BundleSigner, KeySet, init_keys
from prefdex_builder.workspace import Workspace
from prefdex_client import Memory
from prefdex_shared import container
from prefdex_shared.filtering import FilterConfig

CONFIG = BuildConfig(filtering=FilterConfig(tau=0.15, max_candidates=40), llm=LLMConfig("fake:"))


class InlineSession:
    """Runs stages in this process as Ray may run them: in any order, on any number of workers.

    Args:
        rng: Decides which.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def run(self, stage: Stage, blocks: Sequence[pa.Table]) -> Iterator[pa.Table]:
        """Run a stage over blocks."""
        workers = [pickle.loads(pickle.dumps(stage)).load() for _ in range(self._rng.randint(1, 3))]
        for block in self._rng.sample(list(blocks), len(blocks)):
            yield self._rng.choice(workers)(block)


@dataclass
class Place:
    """A workspace, keys and a corpus in a folder of a test."""

    folder: Path
    session: Session
    location: str | None = None
    keys: KeySet = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.keys = init_keys(self.folder / "keys")

    @property
    def workspace(self) -> Workspace:
        return Workspace.at(self.location or self.folder / "workspace")

    def add(self, rows: list[dict[str, str]], n_files: int = 3, name: str = "corpus", **options) -> AddReport:
        corpus = self.folder / name
        corpus.mkdir(exist_ok=True)
        for number in range(n_files):
            text = "\n".join(map(json.dumps, rows[number::n_files]))
            (corpus / f"{number}.jsonl").write_text(text + "\n", encoding="utf-8")
        return self.add_files(str(corpus), **options)

    def add_files(self, *sources: str, **options) -> AddReport:
        return add_corpus(
            self.workspace, sources, encoder="hashing:", session=self.session, progress=Silent(), **options
        )

    def remove(self, *ids: str) -> RemoveReport:
        return remove_documents(self.workspace, ids)

    def plan(self, users: dict[str, list[str]], config: BuildConfig = CONFIG) -> PlanReport:
        return plan(
            self.workspace,
            [make_user(user, texts) for user, texts in users.items()],
            encoder="hashing:",
            session=self.session,
            progress=Silent(),
            config=config,
        )

    def build(self, users: dict[str, list[str]], config: BuildConfig = CONFIG) -> BuildReport:
        return build(
            self.workspace,
            [make_user(user, texts) for user, texts in users.items()],
            encoder="hashing:",
            signer=BundleSigner.from_folder(self.keys.folder),
            session=self.session,
            progress=Silent(),
            config=config,
        )

    def shards(self, report: BuildReport, user: str = "u-1") -> list[bytes]:
        [path] = [each.path for each in report.users if each.user == user]
        files = container.decode(Path(path).read_bytes()).files
        return [files[f"s{number}"] for number in range(len(files) - 1)]

    def memory(self, report: BuildReport, user: str = "u-1") -> Memory:
        [path] = [each.path for each in report.users if each.user == user]
        return Memory.open(path, trust=self.keys.root, encoder="hashing:", audience=user)
