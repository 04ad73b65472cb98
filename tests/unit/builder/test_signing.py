"""Keys and signatures."""

import json
import stat
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from prefdex_builder.signing import BundleSigner, KeySet, bundles, init_keys
from prefdex_shared import container
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.manifest import Manifest
from prefdex_shared.metadata import read_anchor
from prefdex_shared.packing import pack
from prefdex_shared.records import Preference
from prefdex_shared.steering import Scoring
from prefdex_shared.trust import verify_whole
from support.bundles import AUDIENCE, CONTENT, ENCODER, ISSUED, soon

SHARDS = [pack(Preference(text), entries, ENCODER) for text, entries in CONTENT.items()]
MANIFEST = Manifest(AUDIENCE, ENCODER.id, "fake", Scoring(), len(SHARDS))


@pytest.fixture
def keys(tmp_path: Path) -> KeySet:
    return init_keys(tmp_path / "keys")


def test_private_keys_are_the_owners_alone(keys: KeySet) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in keys.folder.iterdir()}
    assert set(modes) == {"root.json", "root.pem", "targets.pem", "online.pem"}
    assert all(mode == 0o600 for name, mode in modes.items() if name.endswith(".pem"))
    assert "PRIVATE" not in keys.root.read_text()


def test_roles_have_keys_of_their_own(keys: KeySet) -> None:
    roles = read_anchor(keys.root.read_bytes()).signed.roles
    assert roles["snapshot"].keyids == roles["timestamp"].keyids
    assert len({tuple(roles[name].keyids) for name in ("root", "targets", "snapshot")}) == 3


def test_keys_are_never_overwritten(keys: KeySet) -> None:
    before = keys.offline.read_bytes()
    with pytest.raises(ConfigurationError, match="never overwritten"):
        init_keys(keys.folder)
    assert keys.offline.read_bytes() == before


def test_keys_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        init_keys(tmp_path / "file" / "keys")
    with pytest.raises(ConfigurationError, match="at least 1 day"):
        init_keys(tmp_path / "keys", valid_days=0)


def test_what_is_signed_verifies(keys: KeySet) -> None:
    data = BundleSigner.from_folder(keys.folder).sign(MANIFEST, SHARDS, version=3, valid_days=30)
    verified, manifest = verify_whole(container.decode(data), trust=keys.root.read_bytes(), audience=AUDIENCE)
    assert (verified.version, manifest) == (3, MANIFEST)
    custom = json.loads(container.decode(data).targets)["signed"]["x-prefdex"]
    assert (custom["audience"], custom["kind"]) == (AUDIENCE, "bundle")
    assert custom["issued"] == f"{verified.issued:%Y-%m-%dT%H:%M:%SZ}"
    assert abs((datetime.now(timezone.utc) - verified.issued).total_seconds()) < 86_400


def test_equal_arguments_give_equal_bytes(keys: KeySet) -> None:
    signer, times = BundleSigner.from_folder(keys.folder), (ISSUED, soon())
    one, two = (signer.sign_at(MANIFEST, SHARDS, version=1, times=times) for _ in range(2))
    assert one == two


def test_what_is_current(keys: KeySet, tmp_path: Path) -> None:
    signer = BundleSigner.from_folder(keys.folder)
    data = signer.sign(MANIFEST, SHARDS, version=1)
    assert signer.is_current(data, MANIFEST, SHARDS)
    assert not signer.is_current(data, replace(MANIFEST, n_shards=2), SHARDS[:2])
    assert not signer.is_current(data, replace(MANIFEST, llm="other"), SHARDS)
    assert not signer.is_current(data, MANIFEST, SHARDS[::-1])
    assert not BundleSigner.from_folder(init_keys(tmp_path / "other").folder).is_current(data, MANIFEST, SHARDS)


def test_a_bundle_that_no_reader_takes_is_refused(keys: KeySet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MAX_CONTAINER_BYTES", 1_000)
    with pytest.raises(ConfigurationError, match="readers take up to 1,000"):
        BundleSigner.from_folder(keys.folder).sign(MANIFEST, SHARDS, version=1)


def test_a_wrong_key(keys: KeySet, tmp_path: Path) -> None:
    cases = {
        f"file2:{keys.offline}": "not the targets key",
        f"file2:{tmp_path / 'nothing.pem'}": "cannot be loaded",
        "nonsense:key": "cannot be loaded",
    }
    for uri, message in cases.items():
        with pytest.raises(ConfigurationError, match=message) as caught:
            BundleSigner.from_folder(keys.folder, uri)
        assert str(keys.folder) not in str(caught.value)
    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        BundleSigner.from_folder(tmp_path / "nowhere")
    assert "prefdex keys init" in caught.value.hint
