"""The format does not change unnoticed, and docs/FORMAT.md is enough to read it."""

import json
from pathlib import Path

import pytest

from golden.make import FOLDER, make
from prefdex_client import Memory, Scoring, apply_patch
from prefdex_shared.encoder import HashingEncoder
from support import port
from support.bundles import AUDIENCE

EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
TRUST = FOLDER / "root.json"
BUNDLES = sorted(EXPECTED["bundles"])
PATCHES = sorted(EXPECTED["patches"])


@pytest.mark.parametrize(("name", "data"), make().items(), ids=make().keys())
def test_golden_files_are_made_byte_for_byte(name: str, data: bytes) -> None:
    assert (FOLDER / name).read_bytes() == data


def test_there_are_no_other_golden_files() -> None:
    assert {path.name for path in FOLDER.iterdir()} - {"__init__.py", "__pycache__", "make.py"} == set(make())


@pytest.mark.parametrize("patch", PATCHES)
def test_patches_lead_from_version_to_version(patch: str, tmp_path: Path) -> None:
    old, new = patch.split("-to-")
    patched = tmp_path / "patched.pdx"
    apply_patch(FOLDER / f"{old}.pdx", FOLDER / f"{patch}.pdx", patched, trust=TRUST, audience=AUDIENCE)
    assert patched.read_bytes() == (FOLDER / f"{new}.pdx").read_bytes()


@pytest.mark.parametrize("search", EXPECTED["searches"], ids=lambda each: f"{each['bundle']} {each['question']}")
def test_the_client_finds_what_is_expected(search: dict) -> None:
    memory = Memory.open(FOLDER / f"{search['bundle']}.pdx", trust=TRUST, encoder="hashing:", audience=AUDIENCE)
    hits = memory.query(search["question"], len(search["hits"]), scoring=Scoring(**search["scoring"]))
    _same(search, [{"chunk_id": hit.chunk_id, "score": hit.score, "preferences": hit.preferences} for hit in hits])
    assert memory.steer(search["question"], Scoring(**search["scoring"])).preference == search["preference"]
    assert HashingEncoder().encode([search["question"]])[0].tolist() == pytest.approx(search["vector"])


class TestPort:
    """The reader that was written from the page."""

    def _read(self, name: str) -> dict:
        return port.read((FOLDER / f"{name}.pdx").read_bytes(), TRUST.read_bytes(), AUDIENCE)

    @pytest.mark.parametrize("name", BUNDLES)
    def test_bundles(self, name: str) -> None:
        assert self._read(name) == EXPECTED["bundles"][name]

    @pytest.mark.parametrize("patch", PATCHES)
    def test_patches(self, patch: str) -> None:
        old, new = ((FOLDER / f"{name}.pdx").read_bytes() for name in patch.split("-to-"))
        assert port.apply(old, (FOLDER / f"{patch}.pdx").read_bytes()) == new

    @pytest.mark.parametrize("search", EXPECTED["searches"], ids=lambda each: f"{each['bundle']} {each['question']}")
    def test_searches(self, search: dict) -> None:
        bundle = self._read(search["bundle"])
        preference, hits = port.search(bundle, search["vector"], search["scoring"], len(search["hits"]))
        assert preference == search["preference"]
        _same(search, hits)


def _same(search: dict, hits: list[dict]) -> None:
    assert [hit["chunk_id"] for hit in hits] == [hit["chunk_id"] for hit in search["hits"]]
    for found, expected in zip(hits, search["hits"], strict=True):
        assert found["score"] == pytest.approx(expected["score"], abs=1e-4)
        assert sorted(found["preferences"]) == expected["preferences"]
