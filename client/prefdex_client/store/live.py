"""The shards of a version of the store, minus what is forgotten, plus what is added, at every moment."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

import numpy as np

from prefdex_shared import shard as shards
from prefdex_shared.encoder import Encoder
from prefdex_shared.records import Preference
from prefdex_shared.shard import Shard

from ..source import Bundle
from ..view import Held, Part
from .state import State


class Following(Protocol):
    """What a live source follows: a store."""

    def token(self) -> Hashable:
        """Return what changes whenever the state does."""
        ...

    def state(self) -> State:
        """Read the state."""
        ...

    def local(self, digest: str) -> bytes:
        """Read a file that was made here."""
        ...


class LiveSource:
    """A version's shards, as the store's state has them.

    Args:
        bundle: The version.
        held: Its shards by name.
        store: Whose state is followed.
    """

    def __init__(self, bundle: Bundle, held: Mapping[str, Shard], store: Following) -> None:
        self.bundle, self._held, self._store = bundle, dict(held), store
        self._decoded: dict[str, Part] = {}

    def token(self) -> Hashable:
        """Return what changes whenever the store's state does."""
        return self._store.token()

    def held(self, encoder: Encoder, /) -> Sequence[Held]:
        """Return the shards that are not forgotten, and what is pending."""
        state = self._store.state()
        self._decoded = {digest: part for digest, part in self._decoded.items() if digest in state.local.values()}
        # Dropped from memory as well.
        self._held = {
            name: each for name, each in self._held.items() if state.tag(each.preference.text) not in state.forgotten
        }
        lengths = self.bundle.verified.lengths
        signed = [Part(shard, "signed", lengths[name]) for name, shard in self._held.items()]
        known = {part.shard.preference.text for part in signed}
        pending = [Part(_without_entries(text, encoder), "pending", 0) for text in state.added if text not in known]
        return [Held((part, *self._local(state, part.shard.preference))) for part in (*signed, *pending)]

    def _local(self, state: State, preference: Preference) -> list[Part]:
        digest = state.local.get(state.tag(preference.text))
        if digest is None:
            return []
        if digest not in self._decoded:
            data = self._store.local(digest)
            self._decoded[digest] = Part(shards.decode(data, "local"), "local", len(data))
        return [self._decoded[digest]]


def _without_entries(text: str, encoder: Encoder) -> Shard:
    vector = encoder.encode([text])[0]
    return shards.pack(Preference(text), encoder.id, [], vector, np.zeros((0, encoder.dim), np.float32))
