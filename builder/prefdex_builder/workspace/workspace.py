"""The workspace's folders, each with the store that knows its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .corpus import CorpusStore
from .shards import ShardIndex
from .storage import Storage
from .users import UserStore
from .verdicts import VerdictStore


@dataclass(frozen=True, slots=True)
class Workspace:
    """A builder's workspace: cheap to make, cheap to send to a worker.

    Attributes:
        root: The folder. On a cluster every node must see it under the same path.
    """

    root: Path

    @property
    def corpus(self) -> CorpusStore:
        """Documents, chunks and snapshots."""
        return CorpusStore(self._folder("corpus"))

    @property
    def candidates(self) -> Storage:
        """What the coarse filter let through, by shard key."""
        return self._folder("candidates")

    @property
    def shards(self) -> ShardIndex:
        """Built shards."""
        return ShardIndex(self._folder("shards"))

    @property
    def users(self) -> UserStore:
        """Bundles."""
        return UserStore(self._folder("users"))

    def verdicts(self, judge: str, writer: str) -> VerdictStore:
        """Return the answers of a judge and a writer.

        Args:
            judge: Identity of engine and prompt.
            writer: Identity of engine and prompt.
        """
        return VerdictStore(self._folder("verdicts").folder(judge), self._folder("instructions").folder(writer))

    def _folder(self, name: str) -> Storage:
        return Storage(self.root / name)
