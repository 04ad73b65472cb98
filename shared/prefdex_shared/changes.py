"""What a device changed by itself, on its way to the server that builds.

What was forgotten is not named: only a tag of it travels, an HMAC of the preference's id under a random salt of the
device. Whoever holds the person's preferences can tell which one is meant; who does not learns nothing.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256

from .errors import ConfigurationError
from .ids import preference_id
from .manifest import MAX_SHARDS, check_audience
from .records import Preference

MAX_CHANGES_BYTES = 8 << 20

_HEX = re.compile(r"[0-9a-f]{64}")
_FIELDS = {"user", "add", "forget", "salt"}


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes that the server has not taken over yet.

    Attributes:
        user: Opaque id of the user.
        add: Preferences that were added.
        forget: Tags of the preferences that were forgotten.
        salt: What the tags are made with: 64 hex digits.
    """

    user: str
    add: tuple[str, ...]
    forget: tuple[str, ...]
    salt: str

    def apply(self, preferences: Sequence[Preference]) -> list[Preference]:
        """Return a person's preferences with the changes: without what was forgotten, what was added at the end."""
        forgotten, salt = set(self.forget), bytes.fromhex(self.salt)
        kept = [each for each in preferences if tag(salt, each.id) not in forgotten]
        return list(dict.fromkeys([*kept, *map(Preference, self.add)]))

    def to_json(self) -> str:
        """Return them as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, where: str) -> Changes:
        """Read what `to_json` wrote.

        Args:
            text: The JSON.
            where: Where it stands, for messages.

        Raises:
            ConfigurationError: It is something else.
        """
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise ConfigurationError(f"{where}: not JSON.") from None
        if not isinstance(value, dict) or set(value) != _FIELDS:
            raise ConfigurationError(f"{where}: must be an object with exactly the fields {sorted(_FIELDS)}.")
        lists = (value["add"], value["forget"])
        if not all(isinstance(each, list) and all(isinstance(item, str) for item in each) for each in lists):
            raise ConfigurationError(f"{where}: 'add' and 'forget' must be lists of strings.")
        if len(value["add"]) > MAX_SHARDS:
            raise ConfigurationError(f"{where}: more than {MAX_SHARDS} added preferences.")
        if not all(isinstance(each, str) and _HEX.fullmatch(each) for each in (value["salt"], *value["forget"])):
            raise ConfigurationError(f"{where}: 'salt' and each of 'forget' must be 64 hex digits.")
        return cls(check_audience(str(value["user"])), tuple(value["add"]), tuple(value["forget"]), value["salt"])


def tag(salt: bytes, identity: str) -> str:
    """Return HMAC-SHA-256 (RFC 2104) of an id under a salt: 64 hex digits."""
    return hmac.new(salt, identity.encode("ascii"), sha256).hexdigest()


def preference_tag(salt: bytes, preference: str) -> str:
    """Return the tag of a preference, by its text."""
    return tag(salt, preference_id(preference))
