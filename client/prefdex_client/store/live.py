"""The shards of a version of the store, minus what is forgotten, plus what is added, at every moment."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Protocol

import numpy as np

from prefdex_shared import shard as shards
from prefdex_shared.encoder import Encoder
from prefdex_shared.records import Preference
from prefdex_shared.shard import Shard

from ..memory import Bundle
from ..view import Held
from .state import State


class Following(Protocol):
    """What a live source follows: a store."""

    def token(self) -> Hashable:
        """Return what changes whenever the state does."""
        ...

    def state(self) -> State:
        """Read the state."""
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

    def token(self) -> Hashable:
        """Return what changes whenever the store's state does."""
        return self._store.token()

    def held(self, encoder: Encoder, /) -> Sequence[Held]:
        """Return the shards that are not forgotten, and what is pending."""
        state = self._store.state()
        # Dropped from memory as well.
        self._held = {
            name: each for name, each in self._held.items() if state.tag(each.preference.text) not in state.forgotten
        }
        lengths = self.bundle.verified.lengths
        signed = [Held(shard, "signed", lengths[name]) for name, shard in self._held.items()]
        known = {each.shard.preference.text for each in signed}
        pending = [Held(_without_entries(text, encoder), "pending", 0) for text in state.added if text not in known]
        return [*signed, *pending]


def _without_entries(text: str, encoder: Encoder) -> Shard:
    vector = encoder.encode([text])[0]
    return shards.pack(Preference(text), encoder.id, [], vector, np.zeros((0, encoder.dim), np.float32))
