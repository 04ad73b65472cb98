"""Files and folders appear whole or not at all."""

import stat
from pathlib import Path

import pytest

from prefdex_shared.errors import ConfigurationError, FormatError
from prefdex_shared.files import new_folder, read, replace


def test_a_folder_appears_at_the_end(tmp_path: Path) -> None:
    with new_folder(tmp_path / "deep" / "new", mode=0o700) as scratch:
        (scratch / "file").write_text("x")
        assert not (tmp_path / "deep" / "new").exists()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["new"]
    assert (tmp_path / "deep" / "new" / "file").read_text() == "x"
    assert stat.S_IMODE((tmp_path / "deep" / "new").stat().st_mode) == 0o700


def test_a_folder_that_failed_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "new") as scratch:
        (scratch / "file").write_text("x")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_predecessor_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".new.unfinished.abc").mkdir()
    (tmp_path / ".new.unfinished.abc" / "large").write_text("x")
    (tmp_path / ".newer.unfinished.abc").mkdir()
    with new_folder(tmp_path / "new"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".newer.unfinished.abc", "new"]


def test_a_taken_place_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match="Directory not empty"), new_folder(tmp_path):
        pass
    assert (tmp_path / "file").read_text() == "mine"


def test_reading_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read(tmp_path / "file", "thing", 5) == b"12345"
    with pytest.raises(FormatError, match="larger than the 4 bytes"):
        read(tmp_path / "file", "thing", 4)
    with pytest.raises(ConfigurationError, match="The thing .* cannot be read: Is a directory"):
        read(tmp_path, "thing", 4)


def test_replacing(tmp_path: Path) -> None:
    replace(tmp_path / "file", b"old")
    replace(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"new"
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigurationError, match="cannot be written"):
        replace(tmp_path / "folder", b"x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
