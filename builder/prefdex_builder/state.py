"""What a workspace holds, as a build finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prefdex_shared.encoder import Encoder
from prefdex_shared.ids import ShardKey
from prefdex_shared.judging import judge_id
from prefdex_shared.records import Preference
from prefdex_shared.writing import writer_id

from .config import BuildConfig
from .workspace import LiveChunk, ShardRecord, Snapshot, VerdictStore, Workspace, shard_key
from .workspace.corpus import content_id


@dataclass(frozen=True, slots=True)
class State:
    """The corpus, and the identities of all that a shard depends on.

    Attributes:
        snapshot: The newest snapshot.
        live: The live chunks by id.
        n_documents: Live documents.
        content: Identity of what the corpus holds.
        judge: Identity of engine and prompt.
        writer: Identity of engine and prompt.
    """

    snapshot: Snapshot
    live: Mapping[str, LiveChunk]
    n_documents: int
    content: str
    judge: str
    writer: str

    @classmethod
    def of(cls, workspace: Workspace, encoder: Encoder, llm_name: str) -> State:
        """Read it.

        Raises:
            ConfigurationError: There is no corpus, or another encoder made its embeddings.
        """
        snapshot = workspace.corpus.check(encoder.id)
        live = workspace.corpus.live(snapshot)
        content = content_id(snapshot, live.chunks)
        return cls(snapshot, live.chunks, len(live.documents), content, judge_id(llm_name), writer_id(llm_name))

    def key(self, preference: Preference, config: BuildConfig) -> ShardKey:
        """Return the key of a preference's shard."""
        return shard_key(
            preference,
            snapshot=self.content,
            encoder=self.snapshot.encoder_id,
            filtering=config.filtering,
            judge=self.judge,
            writer=self.writer,
        )

    def dead(self, workspace: Workspace) -> set[str]:
        """Return the chunks that have an embedding and that no document holds any more."""
        return workspace.corpus.known_chunks(self.snapshot).difference(self.live)

    def answers(self, workspace: Workspace) -> VerdictStore:
        """Return what this judge and this writer have said."""
        return workspace.verdicts(self.judge, self.writer)


def is_whole(record: ShardRecord | None) -> bool:
    """Whether a shard is built, and no pair of it failed."""
    return record is not None and record.n_failed == 0
