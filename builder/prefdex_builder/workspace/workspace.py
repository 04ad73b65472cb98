"""The workspace's folders, each with the store that knows its files."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from prefdex_shared.filtering import FilterConfig

from .candidates import CandidateStore
from .corpus import CorpusStore
from .failures import FailureStore
from .lease import Lease
from .local import LocalFiles
from .shards import ShardIndex
from .storage import Storage
from .users import UserStore
from .verdicts import VerdictStore


@dataclass(frozen=True, slots=True)
class Workspace:
    """A builder's workspace: cheap to make, cheap to send to a worker. Made by `Workspace.at`.

    Attributes:
        storage: All of it.
    """

    storage: Storage

    @classmethod
    def at(cls, location: str | Path) -> Workspace:
        """Return the workspace in a folder, or at `s3://bucket/prefix`.

        Args:
            location: On a cluster every node must see a folder under the same path.
        """
        return cls(Storage.at(location))

    @property
    def folder(self) -> Path | None:
        """Its folder, if it is in one."""
        return self.storage.files.root if isinstance(self.storage.files, LocalFiles) else None

    @property
    def corpus(self) -> CorpusStore:
        """Documents, chunks and snapshots."""
        return CorpusStore(self.storage.folder("corpus"))

    def candidates(self, encoder_id: str, config: FilterConfig) -> CandidateStore:
        """Return what the coarse filter found with an encoder, a threshold and caps."""
        return CandidateStore(self.storage.folder("candidates"), encoder_id, config)

    @property
    def failures(self) -> FailureStore:
        """Pairs that failed."""
        return FailureStore(self.storage.folder("failures"))

    @property
    def shards(self) -> ShardIndex:
        """Built shards."""
        return ShardIndex(self.storage.folder("shards"))

    @property
    def users(self) -> UserStore:
        """Bundles."""
        return UserStore(self.storage.folder("users"))

    def verdicts(self, judge: str, writer: str) -> VerdictStore:
        """Return the answers of a judge and a writer.

        Args:
            judge: Identity of engine and prompt.
            writer: Identity of engine and prompt.
        """
        return VerdictStore(
            self.storage.folder("verdicts").folder(judge), self.storage.folder("instructions").folder(writer)
        )

    def locked(self) -> AbstractContextManager[Lease]:
        """Hold the workspace against other builds.

        Raises:
            ConfigurationError: Another one holds it.
        """
        return self.storage.files.locked()
