"""`Memory`: a verified bundle, ready to answer questions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from prefdex_shared import container, files
from prefdex_shared import trust as trusts
from prefdex_shared.bundle import read_shards
from prefdex_shared.container import MAX_CONTAINER_BYTES, MAX_METADATA_BYTES
from prefdex_shared.encoder import Encoder, open_encoder
from prefdex_shared.errors import ConfigurationError, EncoderMismatchError, FormatError
from prefdex_shared.manifest import Manifest
from prefdex_shared.records import Entry
from prefdex_shared.steering import Scoring, SteeredQuestion, steer
from prefdex_shared.trust import Verified

from .hits import Hit, Match, render_context
from .index import EntryIndex


@dataclass(frozen=True, slots=True)
class PreferenceInfo:
    """A preference of the bundle.

    Attributes:
        text: The preference.
        n_entries: Chunks kept for it.
        shard_bytes: Size of its shard.
    """

    text: str
    n_entries: int
    shard_bytes: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What a bundle is.

    Attributes:
        audience: Opaque id of the user.
        version: Version of the bundle.
        issued: When it was signed (UTC).
        expires: When its signed metadata expire (UTC).
        stale: Whether they have.
        encoder_id: Encoder that questions are encoded with.
        llm: Name of the engine that judged and wrote.
        bundle_bytes: Size of the `.pdx`.
        n_preferences: Preferences, those without entries included.
        n_entries: (chunk, preference) pairs.
        n_chunks: Distinct chunks.
        signed_by: Ids of the keys that signed it.
        scoring: Defaults of steering.
    """

    audience: str
    version: int
    issued: datetime
    expires: datetime
    stale: bool
    encoder_id: str
    llm: str
    bundle_bytes: int
    n_preferences: int
    n_entries: int
    n_chunks: int
    signed_by: tuple[str, ...]
    scoring: Scoring


class Memory:
    """A verified bundle with its index. Made by `Memory.open`; immutable, and safe to query from several threads."""

    def __init__(self, verified: Verified, manifest: Manifest, bundle_bytes: int, encoder: Encoder) -> None:
        if manifest.encoder_id != encoder.id:
            raise EncoderMismatchError(
                f"The bundle was built with encoder {manifest.encoder_id[:12]}, and {encoder.id[:12]} was given.",
                hint="Use the encoder folder that was published with the bundle.",
            )
        self._shards = read_shards(verified, manifest)
        if any(shard.dim != encoder.dim for shard in self._shards):
            raise FormatError(f"The bundle's vectors do not have the {encoder.dim} components of its encoder.")
        self._verified = verified
        self._manifest = manifest
        self._bundle_bytes = bundle_bytes
        self._encoder = encoder
        self._entries: list[tuple[Entry, int]] = [
            (entry, tag) for tag, shard in enumerate(self._shards) for entry in shard.entries
        ]
        self._rows_of_chunk: dict[str, list[int]] = {}
        for row, (entry, _) in enumerate(self._entries):
            self._rows_of_chunk.setdefault(entry.text, []).append(row)
        # A chunk fills at most this many rows, so this many times k rows always hold k different chunks.
        self._most_rows_per_chunk = max(map(len, self._rows_of_chunk.values()), default=1)
        vectors = [shard.preference_vector for shard in self._shards]
        self._preferences = np.array(vectors, dtype=np.float32).reshape(len(vectors), encoder.dim)
        self._may_steer = np.array([bool(shard.entries) for shard in self._shards], dtype=bool)
        self._index = EntryIndex(self._shards, encoder.dim)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        trust: str | Path | bytes,
        encoder: str | Path | Encoder,
        audience: str,
        min_version: int = 0,
    ) -> Memory:
        """Verify a bundle, then parse it and build its index.

        Args:
            path: A `.pdx` file.
            trust: The publisher's `root.json`, which the device got in a way that it trusts: a path, or its bytes.
            encoder: The encoder folder, or a loaded encoder.
            audience: Opaque id of the user whose bundle this must be.
            min_version: Refuse a lower version. A file alone cannot know that a newer one was seen.

        Raises:
            TrustError: The bundle is not to be believed; its subclass says why.
            FormatError: The file is damaged, or no bundle.
            ConfigurationError: A file is missing, it is a patch, or the encoder is another one.
        """
        data = files.read(path, "bundle", MAX_CONTAINER_BYTES)
        verified, manifest = trusts.verify_whole(
            container.decode(data), trust=read_trust(trust), audience=audience, min_version=min_version
        )
        loaded = open_encoder(encoder) if isinstance(encoder, (str, Path)) else encoder
        return cls(verified, manifest, len(data), loaded)

    @property
    def preferences(self) -> list[PreferenceInfo]:
        """The preferences in the user's order, those without entries included."""
        lengths = self._verified.lengths
        return [
            PreferenceInfo(shard.preference.text, len(shard.entries), lengths[name])
            for name, shard in zip(self._manifest.shard_names, self._shards, strict=True)
        ]

    def stats(self) -> Stats:
        """Describe the bundle."""
        return Stats(
            audience=self._manifest.audience,
            version=self._verified.version,
            issued=self._verified.issued,
            expires=self._verified.expires,
            stale=self._verified.is_expired(datetime.now(timezone.utc)),
            encoder_id=self._manifest.encoder_id,
            llm=self._manifest.llm,
            bundle_bytes=self._bundle_bytes,
            n_preferences=len(self._shards),
            n_entries=len(self._entries),
            n_chunks=len(self._rows_of_chunk),
            signed_by=self._verified.key_ids,
            scoring=self._manifest.scoring,
        )

    def steer(self, question: str, scoring: Scoring | None = None) -> SteeredQuestion:
        """Encode a question, once, and steer it.

        Args:
            question: The user's question.
            scoring: Overrides the bundle's defaults.
        """
        vector = self._encoder.encode([question])[0]
        return steer(vector, self._preferences, self._may_steer, scoring or self._manifest.scoring)

    def query(self, question: str, k: int = 5, *, scoring: Scoring | None = None) -> list[Hit]:
        """Find the chunks that help to answer a question in line with the preferences.

        Args:
            question: The user's question.
            k: Number of different chunks; fewer are returned when there are fewer.
            scoring: Overrides the bundle's defaults; `UNSTEERED` turns steering off.

        Returns:
            Hits, best first. Empty for a bundle without entries.

        Raises:
            ConfigurationError: The question is empty, or k is below 1.
        """
        if not question.strip():
            raise ConfigurationError("The question is empty.")
        if k < 1:
            raise ConfigurationError(f"k is the number of hits, at least 1, not {k}.")
        if not self._entries:
            return []
        steered = self.steer(question, scoring)
        found = self._index.search(steered, k * self._most_rows_per_chunk)
        best_rows = dict.fromkeys(self._entries[row][0].text for row, _ in found)
        return [self._hit(text, steered) for text in list(best_rows)[:k]]

    def context(self, question: str, k: int = 5, *, scoring: Scoring | None = None) -> str:
        """Return the hits as text for a generating LLM's prompt; see `query`."""
        return render_context(self.query(question, k, scoring=scoring))

    def _hit(self, text: str, steered: SteeredQuestion) -> Hit:
        matches = sorted((self._match(row, steered) for row in self._rows_of_chunk[text]), key=lambda each: -each.score)
        entry = self._entries[self._rows_of_chunk[text][0]][0]
        return Hit(entry.chunk_id, entry.title, text, entry.source, matches[0].score, tuple(matches))

    def _match(self, row: int, steered: SteeredQuestion) -> Match:
        entry, tag = self._entries[row]
        score = self._index.score(row, steered)
        return Match(self._shards[tag].preference.text, entry.instruction, score, entry.confidence)


def read_trust(trust: str | Path | bytes) -> bytes:
    """Return the bytes of a trust anchor.

    Raises:
        ConfigurationError: The file cannot be read.
        FormatError: It is too large for one.
    """
    return trust if isinstance(trust, bytes) else files.read(trust, "trust anchor", MAX_METADATA_BYTES)
