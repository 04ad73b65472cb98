"""`Memory`: verified shards, ready to answer questions."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prefdex_shared import container, files
from prefdex_shared import trust as trusts
from prefdex_shared.container import MAX_CONTAINER_BYTES, MAX_METADATA_BYTES
from prefdex_shared.encoder import Encoder, open_encoder
from prefdex_shared.errors import ConfigurationError, EncoderMismatchError, FormatError
from prefdex_shared.records import Document
from prefdex_shared.steering import Scoring, SteeredQuestion
from prefdex_shared.vectors import Float32

from .context import DEFAULT_TEMPLATE, ContextTemplate, CountTokens, render_context
from .engines import EngineName
from .hits import Hit
from .info import PreferenceInfo, Stats
from .local import IngestReport, LocalConfig
from .source import Bundle, FileSource, Ingest, Source
from .view import View

if TYPE_CHECKING:
    from .local.llms import LocalLLM


class Memory:
    """Answers questions. Safe to use from several threads, each answer from one state.

    Made by `Memory.open` from a file, which never changes, or by `DeviceStore.memory`, which follows what is forgotten
    and added on the device.
    """

    def __init__(
        self, source: Source, encoder: Encoder, engine: EngineName = "numpy", ingest: Ingest | None = None
    ) -> None:
        manifest = source.bundle.manifest
        if manifest.encoder_id != encoder.id:
            raise EncoderMismatchError(
                f"The bundle was built with encoder {manifest.encoder_id[:12]}, and {encoder.id[:12]} was given.",
                hint="Use the encoder folder that was published with the bundle.",
            )
        self._source, self._encoder, self._engine, self._ingest = source, encoder, engine, ingest
        self._lock = threading.Lock()
        self._state = (source.token(), self._make_view())

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        trust: str | Path | bytes,
        encoder: str | Path | Encoder,
        audience: str,
        min_version: int = 0,
        engine: EngineName = "numpy",
    ) -> Memory:
        """Verify a bundle, then parse it and build its index.

        Args:
            path: A `.pdx` file.
            trust: The publisher's `root.json`, which the device got in a way that it trusts: a path, or its bytes.
            encoder: The encoder folder, or a loaded encoder.
            audience: Opaque id of the user whose bundle this must be.
            min_version: Refuse a lower version. A file alone cannot know that a newer one was seen.
            engine: What ranks: `numpy` or `faiss`.

        Raises:
            TrustError: The bundle is not to be believed; its subclass says why.
            FormatError: The file is damaged, or no bundle.
            ConfigurationError: A file is missing, it is a patch, or the encoder is another one.
        """
        data = files.read(path, "bundle", MAX_CONTAINER_BYTES)
        verified, manifest = trusts.verify_whole(
            container.decode(data), trust=read_trust(trust), audience=audience, min_version=min_version
        )
        return cls(FileSource(Bundle(verified, manifest, len(data))), load_encoder(encoder), engine)

    @property
    def preferences(self) -> list[PreferenceInfo]:
        """The preferences in the user's order, those without entries included."""
        return [
            PreferenceInfo(each.preference.text, each.n_entries, each.n_bytes, each.origin)
            for each in self._view().held
        ]

    def stats(self) -> Stats:
        """Describe the memory."""
        bundle, view = self._source.bundle, self._view()
        return Stats(
            audience=bundle.manifest.audience,
            version=bundle.verified.version,
            issued=bundle.verified.issued,
            expires=bundle.verified.expires,
            stale=bundle.verified.is_expired(),
            encoder_id=bundle.manifest.encoder_id,
            llm=bundle.manifest.llm,
            bundle_bytes=bundle.n_bytes,
            n_preferences=len(view.held),
            n_entries=view.n_entries,
            n_chunks=view.n_chunks,
            signed_by=bundle.verified.key_ids,
            scoring=bundle.manifest.scoring,
        )

    def steer(self, question: str, scoring: Scoring | None = None) -> SteeredQuestion:
        """Encode a question, once, and steer it.

        Args:
            question: The user's question.
            scoring: Overrides the bundle's defaults.
        """
        return self._view().steer(self._encode(question), scoring or self._source.bundle.manifest.scoring)

    def query(self, question: str, k: int = 5, *, scoring: Scoring | None = None) -> list[Hit]:
        """Find the chunks that help to answer a question in line with the preferences.

        Args:
            question: The user's question.
            k: Number of different chunks; fewer are returned when there are fewer.
            scoring: Overrides the bundle's defaults; `UNSTEERED` turns steering off.

        Returns:
            Hits, best first. Empty for a memory without entries.

        Raises:
            ConfigurationError: The question is empty, or k is below 1.
        """
        if not question.strip():
            raise ConfigurationError("The question is empty.")
        if k < 1:
            raise ConfigurationError(f"k is the number of hits, at least 1, not {k}.")
        view = self._view()
        if not view.n_entries:
            return []
        return view.search(self._encode(question), scoring or self._source.bundle.manifest.scoring, k)

    async def aquery(self, question: str, k: int = 5, *, scoring: Scoring | None = None) -> list[Hit]:
        """Find chunks in a thread of their own, so that an event loop goes on; see `query`."""
        import asyncio  # a fifth of this package's import time, for who does without

        return await asyncio.to_thread(self.query, question, k, scoring=scoring)

    def context(
        self,
        question: str,
        k: int = 5,
        *,
        scoring: Scoring | None = None,
        template: ContextTemplate = DEFAULT_TEMPLATE,
        max_characters: int | None = None,
        max_tokens: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> str:
        """Return the hits as text for a generating LLM's prompt; see `query` and `render_context`.

        Args:
            question: The user's question.
            k: Number of different chunks, at most.
            scoring: Overrides the bundle's defaults.
            template: How a hit is rendered.
            max_characters: Length of the text, at most.
            max_tokens: Tokens of the text, at most.
            count_tokens: Counts as the generating LLM does; by default as the encoder does.
        """
        return render_context(
            self.query(question, k, scoring=scoring),
            template=template,
            max_characters=max_characters,
            max_tokens=max_tokens,
            count_tokens=count_tokens or self._encoder.count_tokens,
        )

    def ingest(
        self, documents: Iterable[Document | str], *, llm: LocalLLM = None, config: LocalConfig | None = None
    ) -> IngestReport:
        """Take in documents that came to this device; see `DeviceStore.ingest`. The next question finds them.

        Raises:
            ConfigurationError: The memory is of a file, which never changes, or they cannot be taken in.
        """
        if self._ingest is None:
            raise ConfigurationError("The memory of a file never changes.", hint="Ingest into a DeviceStore's memory.")
        return self._ingest(documents, llm=llm, config=config)

    def _encode(self, question: str) -> Float32:
        vector: Float32 = self._encoder.encode([question])[0]
        return vector

    def _view(self) -> View:
        token, view = self._state
        if token == self._source.token():
            return view
        with self._lock:
            token, view = self._state
            # Taken before the view is made: what changes in between is seen at the next question.
            if token != (now := self._source.token()):
                view = self._make_view()
                self._state = (now, view)
        return view

    def _make_view(self) -> View:
        held = self._source.held(self._encoder)
        if any(part.shard.dim != self._encoder.dim for each in held for part in each.parts):
            raise FormatError(f"The bundle's vectors do not have the {self._encoder.dim} components of its encoder.")
        return View(held, self._encoder.dim, self._engine)


def load_encoder(encoder: str | Path | Encoder) -> Encoder:
    """Return an encoder, loaded if its folder is given."""
    return open_encoder(encoder) if isinstance(encoder, (str, Path)) else encoder


def read_trust(trust: str | Path | bytes) -> bytes:
    """Return the bytes of a trust anchor.

    Raises:
        ConfigurationError: The file cannot be read.
        FormatError: It is too large for one.
    """
    return trust if isinstance(trust, bytes) else files.read(trust, "trust anchor", MAX_METADATA_BYTES)
