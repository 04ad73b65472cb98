"""Whom to build for: users with their preferences, from a `preferences.jsonl`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prefdex_shared import files
from prefdex_shared.changes import MAX_CHANGES_BYTES, Changes
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.manifest import MAX_SHARDS, check_audience
from prefdex_shared.records import Preference
from prefdex_shared.shard import MAX_PREFERENCE_CHARACTERS

from .corpus import SourceFile


@dataclass(frozen=True, slots=True)
class User:
    """A user, by an opaque id.

    Attributes:
        id: Also the audience of the user's bundle.
        preferences: Distinct, in the user's order.
    """

    id: str
    preferences: tuple[Preference, ...]


def make_user(user_id: str, texts: Sequence[str]) -> User:
    """Return a user; preferences that are equal are one.

    Raises:
        ConfigurationError: The id, a preference, or the number of preferences is not fit for a bundle.
    """
    check_audience(user_id)
    preferences = tuple(dict.fromkeys(Preference(text) for text in texts))
    if len(preferences) > MAX_SHARDS:
        raise ConfigurationError(f"User {user_id}: {len(preferences)} preferences; a bundle holds up to {MAX_SHARDS}.")
    for number, preference in enumerate(preferences, start=1):
        if not preference.text or len(preference.text) > MAX_PREFERENCE_CHARACTERS:
            raise ConfigurationError(
                f"User {user_id}: preference {number} has {len(preference.text)} characters, "
                f"and must have 1 to {MAX_PREFERENCE_CHARACTERS}."
            )
    return User(user_id, preferences)


def distinct(users: Iterable[User]) -> list[Preference]:
    """Return the preferences of all users, each once, in the order of users and of their own preferences."""
    return list(dict.fromkeys(preference for user in users for preference in user.preferences))


def read_users(path: str | Path) -> list[User]:
    """Read a JSONL file of {"user": id, "preferences": [text, ...]}, from a path or from S3.

    Raises:
        ConfigurationError: A line is wrong; the message names the line, and quotes no preference.
    """
    try:
        with SourceFile("", str(path)).open() as file:
            lines = file.read().decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The preferences {path} cannot be read: {type(error).__name__}.") from error
    users = [_user(f"{path}:{number}", line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not users:
        raise ConfigurationError(
            f"{path} names no user.", hint='Write lines like {"user": "u-4711", "preferences": ["..."]}'
        )
    user_id, n_lines = Counter(user.id for user in users).most_common(1)[0]
    if n_lines > 1:
        raise ConfigurationError(f"{path}: user {user_id} stands on more than one line.")
    return users


def _user(where: str, line: str) -> User:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{where}: not JSON.") from None
    fields = {"user", "preferences"}
    if not isinstance(row, dict) or set(row) != fields:
        raise ConfigurationError(f"{where}: must be an object with exactly the fields 'user' and 'preferences'.")
    texts = row["preferences"]
    if (
        not isinstance(row["user"], str)
        or not isinstance(texts, list)
        or not all(isinstance(text, str) for text in texts)
    ):
        raise ConfigurationError(f"{where}: 'user' must be a string, and 'preferences' a list of strings.")
    return make_user(row["user"], texts)


def read_changes(path: Path) -> list[Changes]:
    """Read what devices changed: a line of `prefdex-client changes --json` for each of them.

    Raises:
        ConfigurationError: A line is wrong; the message names the line, and quotes no preference.
    """
    text = files.read(path, "changes", MAX_CHANGES_BYTES)
    try:
        lines = text.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise ConfigurationError(f"The changes {path} are not UTF-8.") from None
    return [Changes.from_json(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def apply_changes(users: Sequence[User], changes: Sequence[Changes]) -> list[User]:
    """Return users with the changes of their devices, in the order of the lines.

    Raises:
        ConfigurationError: A change is of a user who is not there, or leads to preferences that are not fit.
    """
    by_id = {user.id: user for user in users}
    for each in changes:
        if each.user not in by_id:
            raise ConfigurationError(f"The changes name user {each.user}, for whom there are no preferences.")
        preferences = each.apply(by_id[each.user].preferences)
        by_id[each.user] = make_user(each.user, [preference.text for preference in preferences])
    return list(by_id.values())
