"""The store's one pointer: which versions there are, what was forgotten, and what was added.

It is a single small file that is replaced as a whole, so all of it changes at once. No preference that was forgotten
stands in it, and no id of one, from which a text could be guessed elsewhere: only tags, which are HMACs under a random
salt of this device.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from prefdex_shared import wire
from prefdex_shared.changes import preference_tag, tag
from prefdex_shared.errors import FormatError
from prefdex_shared.manifest import MAX_SHARDS
from prefdex_shared.shard import MAX_PREFERENCE_CHARACTERS

T = TypeVar("T", bool, str)

FORMAT = 1
MAX_STATE_BYTES = 8 << 20
MAX_WINDOW_CHUNKS = 10_000

_MAX_TAGS = 20_000
_MAX_ITEMS = 100_000
_SALT_BYTES = 32
_HASH = 64
_FIELDS = (
    "format",
    "audience",
    "salt",
    "highest",
    "keys",
    "roots",
    "versions",
    "forgotten",
    "erased",
    "added",
    "local",
    "window",
)


@dataclass(frozen=True, slots=True)
class State:
    """What the store holds.

    Attributes:
        audience: Opaque id of the user.
        salt: 32 random bytes of this device.
        highest: Highest version that was seen: a lower one is a rollback.
        keys: Ids of the targets keys that `highest` counts for; with other keys it begins anew, as in TUF.
        roots: SHA-256 of the root metadata after the device's anchor, by ascending version.
        versions: SHA-256 of the targets metadata of each version that is kept, the current one first.
        forgotten: Tags of forgotten preferences, and whether a signed version has offered the preference.
        erased: Tags of removed files, with the tags of their preferences.
        added: Preferences that were added here and wait for their shards.
        local: SHA-256 of the shards that were made here, by the tags of their preferences.
        window: SHA-256 of the chunks of recent documents, the oldest first.
    """

    audience: str
    salt: bytes
    highest: int = 0
    keys: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    forgotten: Mapping[str, bool] = field(default_factory=dict)
    erased: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    local: Mapping[str, str] = field(default_factory=dict)
    window: tuple[str, ...] = ()

    @classmethod
    def new(cls, audience: str) -> State:
        """Return the state of an empty store."""
        return cls(audience, os.urandom(_SALT_BYTES))

    def tag(self, preference: str) -> str:
        """Return the tag of a preference, by its text: 64 hex digits."""
        return preference_tag(self.salt, preference)

    def file_tag(self, digest: str) -> str:
        """Return the tag of a file, by its SHA-256."""
        return tag(self.salt, digest)


def encode(state: State) -> bytes:
    """Encode a state."""
    return wire.pack(
        {
            "format": FORMAT,
            "audience": state.audience,
            "salt": state.salt,
            "highest": state.highest,
            "keys": list(state.keys),
            "roots": list(state.roots),
            "versions": list(state.versions),
            "forgotten": dict(sorted(state.forgotten.items())),
            "erased": dict(sorted(state.erased.items())),
            "added": list(state.added),
            "local": dict(sorted(state.local.items())),
            "window": list(state.window),
        }
    )


def decode(data: bytes) -> State:
    """Decode a state.

    Raises:
        FormatError: It is damaged.
        NewerFormatError: A newer prefdex wrote it.
    """
    value = wire.unpack(data, "store", MAX_STATE_BYTES, _MAX_ITEMS)
    wire.check_format(value, "store", FORMAT)
    fields = wire.Fields(value, "store", _FIELDS)
    state = State(
        audience=fields.text("audience", 64),
        salt=fields.data("salt", _SALT_BYTES),
        highest=fields.integer("highest", 0, 2**63),
        keys=tuple(fields.texts("keys", 100, _HASH)),
        roots=tuple(fields.texts("roots", 1_000, _HASH)),
        versions=tuple(fields.texts("versions", 10, _HASH)),
        forgotten=_map(fields, "forgotten", bool),
        erased=_map(fields, "erased", str),
        added=tuple(fields.texts("added", MAX_SHARDS, MAX_PREFERENCE_CHARACTERS)),
        local=_map(fields, "local", str),
        window=tuple(fields.texts("window", MAX_WINDOW_CHUNKS, _HASH)),
    )
    if encode(state) != data:
        raise FormatError("store: not in canonical form.")
    return state


def _map(fields: wire.Fields, name: str, kind: type[T]) -> dict[str, T]:
    value = fields.raw(name)
    whole = isinstance(value, dict) and len(value) <= _MAX_TAGS
    if not whole or not all(isinstance(each, kind) for each in value.values()):  # type: ignore[attr-defined]
        raise FormatError(f"store: {name!r} is not a map of at most {_MAX_TAGS} tags.")
    return dict(value)  # type: ignore[call-overload,no-any-return]
