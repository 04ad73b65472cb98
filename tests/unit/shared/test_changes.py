"""What a device changed, on its way to the server."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared.changes import Changes, preference_tag
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.records import Preference

SALT = bytes(range(32))
TEXTS = st.lists(st.sampled_from(("I like tea", "I like trains", "Ich mag Züge", "NFD a\u0301")), unique=True)


@given(TEXTS, TEXTS, TEXTS)
def test_forgotten_ones_go_and_added_ones_come(held, forgotten, added) -> None:
    tags = tuple(preference_tag(SALT, f"  {text} ") for text in forgotten)
    changes = Changes("u-1", tuple(added), tags, SALT.hex())
    assert Changes.from_json(changes.to_json(), "here") == changes
    result = changes.apply([Preference(text) for text in held])
    kept = [text for text in held if text not in forgotten]
    expected = [*kept, *(text for text in added if text not in kept)]
    assert result == [Preference(text) for text in expected]


def test_tags_tell_nothing_without_the_salt() -> None:
    assert preference_tag(SALT, "I like tea") != preference_tag(bytes(32), "I like tea")


GOOD = {"user": "u-1", "add": [], "forget": [], "salt": SALT.hex()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "exactly the fields"),
        (json.dumps(GOOD | {"more": 1}), "exactly the fields"),
        (json.dumps(GOOD | {"add": "secret"}), "lists of strings"),
        (json.dumps(GOOD | {"forget": [1]}), "lists of strings"),
        (json.dumps(GOOD | {"forget": ["zz"]}), "64 hex digits"),
        (json.dumps(GOOD | {"salt": "00"}), "64 hex digits"),
        (json.dumps(GOOD | {"add": ["secret"] * 1_001}), "more than 1000"),
        (json.dumps(GOOD | {"user": "../u"}), "is not a user id"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        Changes.from_json(text, "changes.jsonl:3")
    assert "secret" not in str(caught.value)
