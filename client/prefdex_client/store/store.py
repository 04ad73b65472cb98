"""`DeviceStore`: what a device has, in one folder.

state               the one pointer; replaced as a whole
files/<sha256>      shards and manifests
metadata/<sha256>   signed metadata
lock                held by whoever writes
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from prefdex_shared import container, files
from prefdex_shared.changes import Changes
from prefdex_shared.container import MAX_CONTAINER_BYTES
from prefdex_shared.encoder import Encoder
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.manifest import check_audience
from prefdex_shared.records import Document, Preference
from prefdex_shared.shard import Shard
from prefdex_shared.vectors import Float16

from ..engines import EngineName
from ..local import IngestReport, LocalConfig
from ..memory import Memory, load_encoder, read_trust
from . import planning
from .disk import Disk
from .live import LiveSource
from .reading import STATE_FILE, StoreReader, shards_of
from .state import State
from .writing import StoreWriter

if TYPE_CHECKING:
    from ..local.llms import LocalLLM
    from .locally import LocalShards


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did.

    Attributes:
        version: The current version now.
        n_files: Files that were new.
        n_bytes: Their size.
    """

    version: int
    n_files: int
    n_bytes: int


class DeviceStore:
    """A person's memory on a device. Made by `DeviceStore.open`.

    One process writes at a time; readers are never blocked, and see the version before or the one after.

    Args:
        reader: Reads the folder.
        writer: Writes it.
        audience: Opaque id of the user.
        encoder: Encodes questions; only `memory` needs it.
    """

    def __init__(self, reader: StoreReader, writer: StoreWriter, audience: str, encoder: Encoder | None) -> None:
        self._reader, self._writer, self._audience, self._encoder = reader, writer, audience, encoder
        self._preference_vectors: dict[Preference, Float16] = {}

    @classmethod
    def open(
        cls,
        folder: str | Path,
        *,
        trust: str | Path | bytes,
        audience: str,
        encoder: str | Path | Encoder | None = None,
        disk: Disk | None = None,
    ) -> DeviceStore:
        """Open a store; a new or empty folder becomes one.

        Args:
            folder: The store's folder.
            trust: The publisher's `root.json`, which the device got in a way that it trusts: a path, or its bytes.
            audience: Opaque id of the user whose store this must be.
            encoder: The encoder folder, or a loaded encoder; only `memory` needs it.
            disk: Does the file-system steps; for tests.

        Raises:
            ConfigurationError: The folder is something else, or cannot be written.
            WrongAudienceError: It is another user's.
            FormatError: It is damaged.
        """
        reader = StoreReader(Path(folder), read_trust(trust), check_audience(audience))
        writer = StoreWriter(reader, disk or Disk())
        if not (reader.folder / STATE_FILE).exists():
            writer.create(audience)
        reader.state()
        return cls(reader, writer, audience, None if encoder is None else load_encoder(encoder))

    def memory(self, engine: EngineName = "numpy") -> Memory:
        """Verify the current version, every hash of it, and return its memory, which follows later forgets and adds.

        Args:
            engine: What ranks: `numpy` or `faiss`.

        Raises:
            ConfigurationError: There is no version yet, or the store was opened without an encoder.
            TrustError: What is on the disk is not to be believed.
            FormatError: It is damaged.
        """
        if self._encoder is None:
            raise ConfigurationError("A memory needs an encoder.", hint="Open the store with encoder=...")
        found = self._reader.current()
        if found is None:
            raise ConfigurationError("There is no version on this device yet.", hint="Apply a bundle first.")
        bundle, shards = found
        return Memory(LiveSource(bundle, shards, self._reader), self._encoder, engine, self.ingest)

    def apply(self, pdx: str | Path, *, allow_expired: bool = False) -> Applied:
        """Take over a bundle or a patch.

        Args:
            pdx: The file.
            allow_expired: Take it even if it has expired.

        Raises:
            TrustError: It is not to be believed, older than what was here, or expired.
            PatchMismatchError: It is a patch that needs files that the store lacks.
            FormatError: It is damaged.
            ConfigurationError: It cannot be read, or the store cannot be written. The store is as it was.
        """
        given = container.decode(files.read(pdx, "file", MAX_CONTAINER_BYTES))
        with self._writer.writing() as now:
            plan, version = planning.apply(now, self._reader.device(now), given, allow_expired=allow_expired)
            written = self._writer.commit(now, plan)
        return Applied(version.version, len(written), sum(map(len, written.values())))

    def forget(self, preference: str) -> None:
        """Forget a preference: its bytes leave the device at once, and no version brings it back by itself.

        Args:
            preference: Its text.

        Raises:
            ConfigurationError: It is not there, or the store cannot be written.
        """
        wanted = Preference(preference)
        with self._writer.writing() as now:
            versions = [self._reader.version(now, targets) for targets in now.versions]
            shards = {
                version.hashes[name]
                for version in versions
                for name, shard in shards_of(version).items()
                if shard.preference == wanted
            }
            self._writer.commit(now, planning.forget(now, preference, sorted(shards)))

    def add_preference(self, preference: str, *, llm: LocalLLM = None, config: LocalConfig | None = None) -> None:
        """Add a preference. It steers at once, and is pending until a version with its shard arrives.

        Recent documents that were ingested are matched with it, where the store was opened with an encoder.

        Args:
            preference: Its text.
            llm: Judges and writes; see `ingest`.
            config: Threshold and budget of `ingest`.

        Raises:
            ConfigurationError: It is empty, too long, or one too many, or the store cannot be written.
        """
        with self._writer.writing() as now:
            texts = [shard.preference.text for shard in self._signed(now)]
            plan = planning.add(now, preference, texts)
            self._writer.commit(now, plan)
            if plan.state.window and self._encoder is not None:
                local = self._local(plan.state, self._encoder)
                self._writer.commit(plan.state, local.rescan(Preference(preference), llm, config or LocalConfig()))

    def ingest(
        self, documents: Iterable[Document | str], *, llm: LocalLLM = None, config: LocalConfig | None = None
    ) -> IngestReport:
        """Take in documents that came to this device: chunk, filter, judge and write them for its preferences.

        What is kept stands beside the signed shards and is marked as local. It obeys the byte budget, leaves with its
        preference, and is replaced by nothing that the server sends.

        Args:
            documents: Documents, or their texts.
            llm: Judges and writes: an engine, a function from a prompt to JSON, `openai:URL#MODEL`, or None for
                `extractive:`, which needs no language model.
            config: Threshold and budget.

        Raises:
            ConfigurationError: The store was opened without an encoder, there is no such engine, or the store cannot
                be written.
        """
        if self._encoder is None:
            raise ConfigurationError("Ingesting needs an encoder.", hint="Open the store with encoder=...")
        given = [each if isinstance(each, Document) else Document("", "", each) for each in documents]
        with self._writer.writing() as now:
            plan, report = self._local(now, self._encoder).ingest(given, llm, config or LocalConfig())
            self._writer.commit(now, plan)
            return replace(report, store_bytes=self._reader.n_bytes())

    def _local(self, now: State, encoder: Encoder) -> LocalShards:
        from .locally import LocalShards  # with all that filters, judges and writes

        return LocalShards(self._reader, now, encoder, self._signed(now), self._preference_vectors)

    def _signed(self, now: State) -> list[Shard]:
        """Return the shards of the current version, without what is forgotten."""
        if not now.versions:
            return []
        shards = shards_of(self._reader.version(now, now.versions[0])).values()
        return [shard for shard in shards if now.tag(shard.preference.text) not in now.forgotten]

    def previous(self) -> int:
        """Go back to the version before, without what was forgotten; return its number.

        What was seen stays seen: no version below the highest is taken over afterwards.

        Raises:
            ConfigurationError: There is none, or the store cannot be written.
        """
        with self._writer.writing() as now:
            plan = planning.previous(now)
            version = self._reader.version(now, plan.state.versions[0])
            self._writer.commit(now, plan)
        return version.version

    def changes(self) -> Changes:
        """Return what was changed here and the server has not taken over yet."""
        now = self._reader.state()
        return Changes(self._audience, now.added, tuple(sorted(now.forgotten)), now.salt.hex())
