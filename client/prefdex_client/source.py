"""Where a memory's shards come from: a file, which never changes, or a store."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from prefdex_shared.bundle import read_shards
from prefdex_shared.encoder import Encoder
from prefdex_shared.manifest import Manifest
from prefdex_shared.records import Document
from prefdex_shared.trust import Verified

from .local import IngestReport, LocalConfig
from .view import Held, Part

if TYPE_CHECKING:
    from .local.llms import LocalLLM


@dataclass(frozen=True, slots=True)
class Bundle:
    """A verified bundle.

    Attributes:
        verified: What was verified.
        manifest: Its manifest.
        n_bytes: Its size.
    """

    verified: Verified
    manifest: Manifest
    n_bytes: int


class Source(Protocol):
    """Where a memory's shards come from."""

    @property
    def bundle(self) -> Bundle:
        """The bundle, which stays the same."""
        ...

    def token(self) -> Hashable:
        """Return something that changes whenever `held` does; it is asked at every question."""
        ...

    def held(self, encoder: Encoder, /) -> Sequence[Held]:
        """Return the preferences with what is kept for them, in the user's order."""
        ...


class Ingest(Protocol):
    """Takes documents into a store."""

    def __call__(
        self, documents: Iterable[Document | str], *, llm: LocalLLM, config: LocalConfig | None
    ) -> IngestReport:
        """Take them in."""
        ...


class FileSource:
    """A `.pdx` that was read and verified; it never changes."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle

    def token(self) -> Hashable:
        """Return always the same."""
        return None

    def held(self, _: Encoder, /) -> Sequence[Held]:
        """Return the bundle's shards."""
        lengths = self.bundle.verified.lengths
        shards = read_shards(self.bundle.verified, self.bundle.manifest)
        return [Held((Part(shard, "signed", lengths[name]),)) for name, shard in shards.items()]
