"""The format does not change unnoticed."""

from pathlib import Path

import pytest

from golden.make import FOLDER, make
from prefdex_client import Memory, apply_patch
from support.bundles import AUDIENCE


@pytest.mark.parametrize(("name", "data"), make().items(), ids=make().keys())
def test_golden_files_are_made_byte_for_byte(name: str, data: bytes) -> None:
    assert (FOLDER / name).read_bytes() == data


def test_golden_files_open(tmp_path: Path) -> None:
    trust = FOLDER / "root.json"
    first, second = (
        Memory.open(FOLDER / f"v{version}.pdx", trust=trust, encoder="hashing:", audience=AUDIENCE)
        for version in (1, 2)
    )
    assert (first.stats().n_entries, second.stats().n_entries) == (5, 4)
    patched = tmp_path / "patched.pdx"
    apply_patch(FOLDER / "v1.pdx", FOLDER / "v1-to-v2.pdx", patched, trust=trust, audience=AUDIENCE)
    assert patched.read_bytes() == (FOLDER / "v2.pdx").read_bytes()
