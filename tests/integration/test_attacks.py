"""Every named attack ends in its own error, at both doors of a device, and leaves what the device has.

Among them are the kinds of sigstore/model-transparency 647 (a signed name that leads outside), facebookresearch/faiss
4115 and 5400 (a newer file; a crafted file that exhausts memory), and msgpack/msgpack-python 360 (limits that break
real data, or that nine bytes get around).
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import brotli
import pytest

from prefdex_client import Memory
from prefdex_shared import wire
from prefdex_shared.container import MAX_CONTAINER_BYTES
from prefdex_shared.errors import ExpiredError, FormatError, PrefdexError
from prefdex_shared.manifest import MAX_SHARDS
from support import attacks
from support.attacks import ATTACKS, HELD_VERSION, Attack, Device
from support.bundles import AUDIENCE, CONTENT, ENCODER, PAST, Publisher, entry


@pytest.fixture
def device(tmp_path: Path, publisher: Publisher) -> Device:
    """A device that has a bundle."""
    device = Device(tmp_path, publisher.trust)
    device.bundle.write_bytes(publisher.bundle(CONTENT, version=HELD_VERSION))
    return device


def _refused(device: Device, door: str, data: bytes) -> PrefdexError:
    """Give the device a file at one of its doors; return the error, and check that nothing else happened."""
    file = device.bundle.with_name("attack.pdx")
    file.write_bytes(data)
    before = device.bundle.read_bytes()
    with pytest.raises(PrefdexError) as caught:
        device.doors[door](file)
    assert device.bundle.read_bytes() == before
    device.open(device.bundle)
    return caught.value


@pytest.mark.parametrize("door", ["open", "apply"])
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack(attack: Attack, door: str, device: Device, publisher: Publisher) -> None:
    error = _refused(device, door, attack.make(publisher))
    assert type(error) is attack.error, repr(error)
    with pytest.raises(attack.error, match=attack.message):
        raise error
    assert error.hint, "a person is told what to do"
    assert "u-2" not in f"{error} {error.hint}", "whose bundle it was is another user's business"
    assert len(str(error)) < 300, "what is said does not grow with what is given"


def test_names_are_different() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 50


@pytest.mark.parametrize("door", ["open", "apply"])
def test_truncated_at_every_hundredth_byte(door: str, device: Device, publisher: Publisher) -> None:
    data = publisher.bundle(CONTENT, version=HELD_VERSION + 1)
    for length in range(0, len(data), 100):
        assert type(_refused(device, door, data[:length])) is FormatError


@pytest.mark.parametrize("what", ["targets", "root"])
def test_what_has_expired_is_not_applied_and_opens_as_stale(what: str, tmp_path: Path) -> None:
    publisher = Publisher(expires=PAST) if what == "root" else Publisher()
    device = Device(tmp_path, publisher.trust)
    device.bundle.write_bytes(publisher.bundle(CONTENT, version=HELD_VERSION))
    expires = {"expires": PAST} if what == "targets" else {}
    data = publisher.bundle(CONTENT, version=HELD_VERSION + 1, **expires)
    assert type(_refused(device, "apply", data)) is ExpiredError
    device.bundle.write_bytes(data)
    memory = Memory.open(device.bundle, trust=publisher.trust, encoder=ENCODER, audience=AUDIENCE)
    assert memory.stats().stale
    assert memory.query("tea")


def test_a_root_rotated_by_the_rules_is_followed(device: Device, publisher: Publisher) -> None:
    file = device.bundle.with_name("new.pdx")
    for number, keys in enumerate(({"targets": 20}, {"targets": 22, "root": 23}, {"targets": 24}), 1):
        publisher.rotate(**keys)
        file.write_bytes(publisher.bundle(CONTENT, version=HELD_VERSION + number))
        device.apply(file)
        assert device.bundle.with_name("output.pdx").read_bytes() == file.read_bytes()


def test_the_largest_legal_bundle_loads(device: Device, publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caps refuse no bundle that may be: 1,000 preferences in 8 MB."""
    monkeypatch.setattr(wire, "compress", lambda data: brotli.compress(data, quality=1))
    rng = random.Random(0)
    content = {f"topic {number}": [entry(rng.randbytes(7_350).hex(), "note")] for number in range(MAX_SHARDS)}
    data = publisher.bundle(content, version=HELD_VERSION + 1)
    assert 0.95 * MAX_CONTAINER_BYTES < len(data) <= MAX_CONTAINER_BYTES
    file = device.bundle.with_name("largest.pdx")
    file.write_bytes(data)
    device.apply(file)
    memory = Memory.open(file, trust=publisher.trust, encoder=ENCODER, audience=AUDIENCE)
    assert len(memory.query("note", 3)) == 3


def test_memory_stays_under_64_mb_above_the_base(device: Device, publisher: Publisher) -> None:
    """In a process that cannot get more, every attack ends as it does elsewhere."""
    folder = device.bundle.parent
    (folder / "root.json").write_bytes(publisher.trust)
    expected = {}
    for number, attack in enumerate(ATTACKS):
        name = f"attack-{number:03d}"
        (folder / f"{name}.pdx").write_bytes(attack.make(Publisher()))
        expected |= {f"{name} {door}": attack.error.__name__ for door in device.doors}
    tests = Path(attacks.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, attacks.__file__, str(folder)],
        env=os.environ | {"PYTHONPATH": str(tests), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
