"""From a user's shards to a bundle: what the byte budget keeps, a signature, a new version if anything changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prefdex_shared.errors import BuildError, ConfigurationError
from prefdex_shared.ids import EncoderId
from prefdex_shared.manifest import Manifest

from .budget import Ladder, Rung, choose, cost
from .config import BuildConfig
from .preferences import User
from .report import PreferenceReport, UserReport
from .signing import BundleSigner
from .workspace import ShardRecord, Workspace


@dataclass(frozen=True, slots=True)
class Bundler:
    """Makes bundles of built shards.

    Attributes:
        workspace: Where shards and bundles are stored.
        signer: Signs.
        encoder_id: Encoder of all vectors.
        llm_name: Name of the engine that judged and wrote.
        config: Settings.
    """

    workspace: Workspace
    signer: BundleSigner
    encoder_id: EncoderId
    llm_name: str
    config: BuildConfig

    def needs_trimming(self, user: User, records: Sequence[ShardRecord]) -> bool:
        """Whether the whole shards of a user are more than the budget allows."""
        if self.config.max_bundle_bytes is None:
            return False
        version, _ = self._latest(user)
        return self._size(user, records, version + 1) > self.config.max_bundle_bytes

    def give(self, user: User, records: Sequence[ShardRecord]) -> UserReport:
        """Give a user a bundle: a new version only if anything changed.

        Args:
            user: The user.
            records: The whole shards, in the order of the user's preferences. Where `needs_trimming`, their ladders
                must be there.

        Raises:
            ConfigurationError: The budget cannot hold even empty shards.
        """
        version, data = self._latest(user)
        manifest = self._manifest(user, records)
        rungs = self._rungs(user, records, version)
        is_new = not (data and self.signer.is_current(data, manifest, self._shards(rungs)))
        if is_new:
            version += 1
            rungs = self._rungs(user, records, version)
            data = self._signed(manifest, rungs, version)
            self.workspace.users.put(user.id, version, data)
        reports = tuple(
            PreferenceReport(
                preference.text,
                record.n_candidates,
                record.n_entries,
                record.n_entries - rung.n_entries,
                record.n_failed,
                rung.n_bytes,
            )
            for preference, record, rung in zip(user.preferences, records, rungs, strict=True)
        )
        path = self.workspace.users.location(user.id, version)
        return UserReport(user.id, version, is_new, path, len(data), reports)

    def _latest(self, user: User) -> tuple[int, bytes]:
        return self.workspace.users.latest(user.id) or (0, b"")

    def _manifest(self, user: User, shards: Sequence[object]) -> Manifest:
        return Manifest(user.id, self.encoder_id, self.llm_name, self.config.scoring, len(shards))

    def _shards(self, rungs: Sequence[Rung]) -> list[bytes]:
        return [self.workspace.shards.get(rung.sha256) for rung in rungs]

    def _signed(self, manifest: Manifest, rungs: Sequence[Rung], version: int) -> bytes:
        data = self.signer.sign(manifest, self._shards(rungs), version=version, valid_days=self.config.valid_days)
        limit = self.config.max_bundle_bytes
        if limit is not None and len(data) > limit:
            raise BuildError(f"{manifest.audience}: the signed bundle came out larger than computed; it is not kept.")
        return data

    def _rungs(self, user: User, records: Sequence[ShardRecord], version: int) -> list[Rung]:
        """Return the rung of each shard: its last where no budget binds."""
        whole = [Rung(record.n_entries, record.sha256, record.n_bytes, 0.0) for record in records]
        limit = self.config.max_bundle_bytes
        if limit is None or self._size(user, whole, version) <= limit:
            return whole
        ladders = [self._ladder(record) for record in records]
        empty = [ladder[0] for ladder in ladders]
        least = self._size(user, empty, version)
        if least > limit:
            raise ConfigurationError(
                f"{user.id}: a bundle of {limit:,} bytes cannot hold {len(records)} preferences: their metadata and "
                f"empty shards alone have {least:,}.",
                hint=f"Allow at least {least} bytes, and more to hold any entry.",
            )
        room = limit - least + sum(cost(rung.n_bytes) for rung in empty)
        while True:
            rungs = [ladder[at] for ladder, at in zip(ladders, choose(ladders, room), strict=True)]
            excess = self._size(user, rungs, version) - limit
            if excess <= 0:
                return rungs
            # The frame of the metadata themselves has grown.
            room -= excess

    def _size(self, user: User, shards: Sequence[Rung | ShardRecord], version: int) -> int:
        return self.signer.size(
            self._manifest(user, shards), [each.n_bytes for each in shards], version=max(version, 1)
        )

    def _ladder(self, record: ShardRecord) -> Ladder:
        ladder = self.workspace.shards.ladder(record.sha256)
        if ladder is None:
            raise BuildError("A shard was not trimmed for the byte budget.", hint="Is something else deleting files?")
        return ladder
