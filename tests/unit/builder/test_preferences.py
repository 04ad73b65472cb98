"""Whom to build for."""

import json
from pathlib import Path

import pytest

from prefdex_builder.demo.personas import read_personas
from prefdex_builder.preferences import make_user, read_users
from prefdex_shared.errors import ConfigurationError


def _read(tmp_path: Path, *rows: object) -> list:
    file = tmp_path / "preferences.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return read_users(file)


def test_users(tmp_path: Path) -> None:
    users = _read(
        tmp_path,
        {"user": "u-1", "preferences": ["I like tea", " I like  tea ", "b"]},
        "",
        {"user": "u-2", "preferences": []},
    )
    assert [(user.id, [each.text for each in user.preferences]) for user in users] == [
        ("u-1", ["I like tea", "b"]),
        ("u-2", []),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{bad", ":2: not JSON"),
        ([], ":2: must be an object"),
        ({"user": "u-2"}, "exactly the fields"),
        ({"user": "u-2", "preferences": ["secret wish"], "extra": 1}, "exactly the fields"),
        ({"user": 2, "preferences": []}, "'user' must be a string"),
        ({"user": "u-2", "preferences": "secret wish"}, "a list of strings"),
        ({"user": "u-2", "preferences": ["secret wish", ""]}, "preference 2 has 0 characters"),
        ({"user": "u-2", "preferences": ["secret wish" * 500]}, "preference 1 has 5500 characters"),
        ({"user": "u-2", "preferences": [f"wish {n}" for n in range(1_001)]}, "holds up to 1000"),
        ({"user": "../u", "preferences": []}, "is not a user id"),
        ({"user": "u-1", "preferences": ["secret wish"]}, "more than one line"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wrong_line_is_named_and_nothing_is_quoted(tmp_path: Path, row: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        _read(tmp_path, {"user": "u-1", "preferences": []}, row)
    assert "secret wish" not in str(caught.value)


def test_no_user_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="names no user"):
        _read(tmp_path, "")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_users(tmp_path / "nothing")


def test_the_sample_is_in_the_papers_form() -> None:
    personas = read_personas()
    assert [len(persona.blocks) for persona in personas] == [10, 10, 10]
    assert all(len(block.questions) >= 2 for persona in personas for block in persona.blocks)
    texts = [text for persona in personas for text in persona.preferences]
    assert len(set(texts)) == 30
    assert [make_user(persona.user, persona.preferences).id for persona in personas] == [
        "sample-0",
        "sample-1",
        "sample-2",
    ]


def test_a_file_that_holds_no_personas(tmp_path: Path) -> None:
    for text in ("", "{}", "[1]", '[{"persona_index": 1}]'):
        (tmp_path / "bad.json").write_text(text)
        if text == "{}":
            assert read_personas(tmp_path / "bad.json") == []
            continue
        with pytest.raises(ConfigurationError, match="is no persona file"):
            read_personas(tmp_path / "bad.json")
