"""Attacks on a device, by name: what it is given, and the error that it must end in.

Run as a program, it reads the attacks' files from a folder and tries them all within 64 MB above its base.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import brotli
from tuf.api.metadata import TargetFile

from prefdex_client import Memory, apply_patch
from prefdex_shared import manifest, wire
from prefdex_shared.container import MAX_METADATA_BYTES, Container, encode
from prefdex_shared.errors import (
    FormatError,
    HashMismatchError,
    NewerFormatError,
    NotSignedError,
    PrefdexError,
    RollbackError,
    TooLargeError,
    WrongAudienceError,
)
from prefdex_shared.manifest import Manifest
from prefdex_shared.steering import Scoring
from prefdex_shared.trust import CUSTOM_FIELD
from support.bundles import AUDIENCE, CONTENT, ENCODER, Publisher, entry, fixed_signer, parts

HELD_VERSION = 5
"""Version of the bundle that the device has."""
MEMORY_BYTES = 64 << 20

OTHER = {"I like tea": [entry("Tea grows on hills.")]}
_NEW = HELD_VERSION + 1


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        name: What is tried.
        error: What it must end in.
        message: A part of what the person is told.
        make: Makes the file that the device is given.
    """

    name: str
    error: type[PrefdexError]
    message: str
    make: Callable[[Publisher], bytes]


ATTACKS: list[Attack] = []


def attack(name: str, error: type[PrefdexError], message: str) -> Callable[[Callable[[Publisher], bytes]], None]:
    """Add an attack to the table."""
    return lambda make: ATTACKS.append(Attack(name, error, message, make))


def _new(publisher: Publisher) -> Container:
    return parts(publisher.bundle(CONTENT, version=_NEW))


def _with(held: Container, **changes: object) -> bytes:
    fields = {"roots": held.roots, "targets": held.targets, "files": held.files}
    return encode(Container(**(fields | changes)))  # type: ignore[arg-type]


def _files(*, described: Mapping[str, object] | None = None, **changes: bytes) -> dict[str, bytes]:
    """Return files that a publisher could sign: one shard, and a manifest."""
    fields = {"audience": AUDIENCE, "encoder_id": ENCODER.id, "llm": "fake", "scoring": Scoring(), "n_shards": 1}
    one = parts(Publisher().bundle(OTHER)).files["s0"]
    files = {"manifest": manifest.encode(Manifest(**(fields | dict(described or {})))), "s0": one}  # type: ignore[arg-type]
    return files | changes


def _shard(**changes: object) -> bytes:
    good = wire.unpack(_files()["s0"], "shard", 1 << 20)
    return wire.pack(good | changes)  # type: ignore[operator]


def _body(**changes: object) -> bytes:
    body = wire.decompress(wire.unpack(_files()["s0"], "shard", 1 << 20)["body"], "shard", 1 << 20)  # type: ignore[index]
    return wire.compress(wire.pack(wire.unpack(body, "shard", 1 << 20) | changes))  # type: ignore[operator]


# Content that was exchanged.


@attack("a file exchanged", HashMismatchError, "File 's0' differs from its signed hash")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, files={**held.files, "s0": held.files["s1"]})


@attack("a shard of another user's bundle", HashMismatchError, "File 's1' differs from its signed hash")
def _(publisher: Publisher) -> bytes:
    held, other = _new(publisher), parts(publisher.bundle(OTHER, audience="u-2", version=_NEW))
    return _with(held, files={**held.files, "s1": other.files["s0"]})


@attack("another user's whole bundle", WrongAudienceError, "signed for another user")
def _(publisher: Publisher) -> bytes:
    return publisher.bundle(CONTENT, audience="u-2", version=_NEW)


@attack("metadata of one version with files of another", HashMismatchError, "File 's0' differs")
def _(publisher: Publisher) -> bytes:
    return _with(_new(publisher), files=parts(publisher.bundle(OTHER, version=_NEW + 1)).files)


@attack("a file that nobody signed", HashMismatchError, "File 's7' is not named by the signed metadata")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, files={**held.files, "s7": b"x"})


@attack("an older version", RollbackError, "version 4, below the 5")
def _(publisher: Publisher) -> bytes:
    return publisher.bundle(CONTENT, version=HELD_VERSION - 1)


@attack("a manifest for another user", WrongAudienceError, "manifest is for another user")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(described={"audience": "u-2"}), version=_NEW)


@attack("a manifest that names other shards", FormatError, "name different shards")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(described={"n_shards": 2}), version=_NEW)


@attack("signed metadata of another kind", WrongAudienceError, "not those of a bundle")
def _(publisher: Publisher) -> bytes:
    custom = {CUSTOM_FIELD: {"audience": AUDIENCE, "issued": "2026-01-01T00:00:00Z", "kind": "encoder"}}
    return publisher.sign_files(_files(), version=_NEW, unrecognized_fields=custom)


@attack("only SHA-1", FormatError, "has no SHA-256")
def _(publisher: Publisher) -> bytes:
    weak = {name: TargetFile.from_data(name, data, ["sha1"]) for name, data in _files().items()}
    return publisher.sign_files(_files(), version=_NEW, targets=weak)


@attack("two shards of one preference", FormatError, "two shards are of one preference")
def _(publisher: Publisher) -> bytes:
    files = _files(described={"n_shards": 2})
    return publisher.sign_files(files | {"s1": files["s0"]}, version=_NEW)


@attack("a shard of another encoder", FormatError, "s0: its vectors are of another encoder")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(s0=_shard(body=_body(encoder=bytes(20)))), version=_NEW)


# Keys.


@attack("an unknown key", NotSignedError, "targets: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(), version=_NEW, signed_by=[fixed_signer(99)])


@attack("a key of another role", NotSignedError, "targets: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(), version=_NEW, signed_by=[publisher.signers["online"]])


@attack("a stranger's signature beside the right one", NotSignedError, "signed by a key that has no such role")
def _(publisher: Publisher) -> bytes:
    signers = [publisher.signers["targets"], fixed_signer(99)]
    return publisher.sign_files(_files(), version=_NEW, signed_by=signers)


@attack("one signature where two are due", NotSignedError, "targets: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    def two(signed) -> None:
        signed.add_key(fixed_signer(70).public_key, "targets")
        signed.roles["targets"].threshold = 2

    publisher.edit_root(two)
    return publisher.sign_files(_files(), version=_NEW)


@attack("the same signature twice where two are due", FormatError, "targets: not well-formed")
def _(publisher: Publisher) -> bytes:
    def two(signed) -> None:
        signed.add_key(fixed_signer(70).public_key, "targets")
        signed.roles["targets"].threshold = 2

    publisher.edit_root(two)
    held = parts(publisher.sign_files(_files(), version=_NEW))
    value = json.loads(held.targets)
    value["signatures"] *= 2
    return _with(held, targets=json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


@attack("a threshold of 0", FormatError, "root: not well-formed")
def _(publisher: Publisher) -> bytes:
    def none(signed) -> None:
        signed.roles["targets"].threshold = 0

    publisher.edit_root(none)
    return publisher.sign_files(_files(), version=_NEW, signed_by=[fixed_signer(99)])


@attack("a role without keys that it names", NotSignedError, "targets: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    def hollow(signed) -> None:
        signed.roles["targets"].keyids = ["00" * 32]

    publisher.edit_root(hollow)
    return publisher.sign_files(_files(), version=_NEW)


@attack("10,000 signatures", TooLargeError, "'targets' is longer than")
def _(publisher: Publisher) -> bytes:
    return _signatures(publisher, 10_000)


@attack("more signatures than there may be, in metadata of legal size", TooLargeError, "more than 16 signatures")
def _(publisher: Publisher) -> bytes:
    return _signatures(publisher, 2_000)


def _signatures(publisher: Publisher, n: int) -> bytes:
    held = _new(publisher)
    value = json.loads(held.targets)
    value["signatures"] = [{"keyid": f"{number:064x}", "sig": "00" * 64} for number in range(n)]
    return _with(held, targets=json.dumps(value, separators=(",", ":"), sort_keys=True).encode())


@attack("a root signed by the old key only", NotSignedError, "root 2: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    publisher.rotate(targets=20, root=21, signed_by=[fixed_signer(1)])
    return publisher.bundle(CONTENT, version=_NEW)


@attack("a root signed by the new key only", NotSignedError, "root 2: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    publisher.rotate(targets=20, root=21, signed_by=[fixed_signer(21)])
    return publisher.bundle(CONTENT, version=_NEW)


@attack("a root that skips a version", NotSignedError, "version 3 does not follow version 1")
def _(publisher: Publisher) -> bytes:
    publisher.rotate(targets=20)
    publisher.rotate(targets=21)
    del publisher.roots[1]
    return publisher.bundle(CONTENT, version=_NEW)


@attack("another root of the version that the device trusts", NotSignedError, "another root of version 1")
def _(publisher: Publisher) -> bytes:
    return _with(_new(publisher), roots=(Publisher(first=40).trust,))


@attack("the key that was replaced", NotSignedError, "targets: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, roots=(publisher.rotate(targets=20),))


@attack("targets in place of a root", FormatError, "root: metadata of another role")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, roots=(held.targets,))


# Other bytes for the same content.


@attack("a blank in the metadata", FormatError, "targets: metadata not in canonical form")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, targets=held.targets.replace(b'{"signatures"', b'{ "signatures"'))


@attack("capital digits in a signature", FormatError, "targets: metadata not in canonical form")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    capitals = re.sub(rb'"sig":"([0-9a-f]+)"', lambda match: b'"sig":"' + match[1].upper() + b'"', held.targets)
    return _with(held, targets=capitals)


@attack("a key twice in the JSON", FormatError, "targets: metadata not in canonical form")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, targets=held.targets.replace(b'"version":6,', b'"version":7,"version":6,'))


@attack("a key twice in the msgpack", FormatError, "container: the field 'format' stands there twice")
def _(publisher: Publisher) -> bytes:
    data = publisher.bundle(CONTENT, version=_NEW)
    return bytes([data[0] + 1]) + wire.pack("format") + wire.pack(1) + data[1:]


@attack("a file twice in the msgpack", FormatError, "container: the field 's0' stands there twice")
def _(publisher: Publisher) -> bytes:
    data = encode(Container((), _new(publisher).targets, {"s0": b"x", "s1": b"y"}))
    return data.replace(wire.pack("s1"), wire.pack("s0"))


@attack("an unknown field", FormatError, "container: unknown field 'more'")
def _(publisher: Publisher) -> bytes:
    return wire.pack(wire.unpack(publisher.bundle(CONTENT, version=_NEW), "c", 1 << 20) | {"more": 1})  # type: ignore[operator]


@attack("something after the end", FormatError, "container: not in canonical form")
def _(publisher: Publisher) -> bytes:
    return publisher.bundle(CONTENT, version=_NEW) + b"\x00"


def _more_signed(value: bytes) -> Callable[[Publisher], bytes]:
    def make(publisher: Publisher) -> bytes:
        held = _new(publisher)
        return _with(held, targets=held.targets.replace(b'"version":6,', b'"version":6,"w":' + value + b","))

    return make


for _what, _value in {"a fraction": b"0.5", "infinity": b"Infinity", "half a character": b'"\\ud800"'}.items():
    attack(f"{_what} in the metadata", FormatError, "targets: not well-formed")(_more_signed(_value))


# Names.


def _named(name: str) -> Callable[[Publisher], bytes]:
    return lambda publisher: publisher.sign_files(_files() | {name: b"x"}, version=_NEW)


for _name in ("../s0", "/etc/passwd", "s0/../s1", "C:\\s0", "link", "s0\0", "s01", "s-1", "", "manifest.json", "S0"):
    attack(f"a signed file of the name {_name!r}", FormatError, "is not the name of a file in a bundle")(_named(_name))


@attack("a name in the metadata that leads outside", FormatError, "name different shards")
def _(publisher: Publisher) -> bytes:
    named = {**_files(), "../../s1": b"x"}
    targets = {name: TargetFile.from_data(name, data, ["sha256"]) for name, data in named.items()}
    return publisher.sign_files(_files(), version=_NEW, targets=targets)


# Bombs: what claims to be, or becomes, larger than it is.


@attack("200 MB", TooLargeError, "is larger than the 8388608 bytes allowed")
def _(publisher: Publisher) -> bytes:
    return bytes(200 << 20)


@attack("8 MB that nobody signed", NotSignedError, "targets: not signed by enough keys")
def _(publisher: Publisher) -> bytes:
    files = _files() | {"s1": bytes(4 << 20), "s2": bytes((4 << 20) - 8192)}
    return publisher.sign_files(files, version=_NEW, signed_by=[fixed_signer(99)])


@attack("a list of 4 billion roots", TooLargeError, "container: more items than allowed")
def _(publisher: Publisher) -> bytes:
    return b"\x84" + wire.pack("format") + b"\x01" + wire.pack("roots") + b"\xdd\xff\xff\xff\xff"


@attack("a map of 4 billion fields", TooLargeError, "container: more items than allowed")
def _(publisher: Publisher) -> bytes:
    return b"\xdf\xff\xff\xff\xff"


@attack("4 GB of targets", FormatError, "container: not well-formed")
def _(publisher: Publisher) -> bytes:
    return b"\x84" + wire.pack("format") + b"\x01" + wire.pack("targets") + b"\xc6\xff\xff\xff\xff"


@attack("8 million empty lists", TooLargeError, "container: more items than allowed")
def _(publisher: Publisher) -> bytes:
    n = 8_000_000
    return b"\x84" + wire.pack("format") + b"\x01" + wire.pack("roots") + b"\xdd" + n.to_bytes(4, "big") + b"\x90" * n


@attack("maps within maps", TooLargeError, "container: nested more than 3 deep")
def _(publisher: Publisher) -> bytes:
    return b"\x81\xa1a" * 1_000_000 + b"\x01"


@attack("lists within lists in the metadata", FormatError, "targets: not well-formed")
def _(publisher: Publisher) -> bytes:
    return _with(_new(publisher), targets=b"[" * (MAX_METADATA_BYTES - 1))


@attack("a number of 500,000 digits in the metadata", FormatError, "targets: not well-formed")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, targets=held.targets.replace(b'"version":6,', b'"version":' + b"6" * 500_000 + b","))


@attack("more roots than there may be", TooLargeError, "'roots' has more than 64 items")
def _(publisher: Publisher) -> bytes:
    return _with(_new(publisher), roots=(b"{}",) * 65)


@cache
def _bomb(n_bytes: int) -> bytes:
    # The finest compression would take a minute.
    return brotli.compress(bytes(n_bytes), quality=1)


@attack("a text that unpacks to 1 GB", TooLargeError, "s0: more than the 8388608 bytes allowed once decompressed")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(s0=_shard(body=_bomb(1 << 30))), version=_NEW)


@attack("codes that unpack to 1 GB", TooLargeError, r"s0: more than the \d+ bytes allowed once decompressed")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(s0=_shard(codes=_bomb(1 << 30))), version=_NEW)


@attack("a text of lists within lists", TooLargeError, "s0: nested more than 3 deep")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(s0=_shard(body=wire.compress(b"\x91" * (8 << 20)))), version=_NEW)


@attack("a text of 8 million numbers", TooLargeError, "s0: more items than allowed")
def _(publisher: Publisher) -> bytes:
    numbers = b"\xdd" + (8_000_000).to_bytes(4, "big") + b"\x01" * 8_000_000
    return publisher.sign_files(_files(s0=_shard(body=wire.compress(numbers))), version=_NEW)


@attack("vectors of more components than there may be", FormatError, "'dim' is not an integer from 1 to 8192")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(s0=_shard(body=_body(dim=1 << 31))), version=_NEW)


# Something else altogether.


@attack("a container of a newer format", NewerFormatError, "format 2; this prefdex reads formats up to 1")
def _(publisher: Publisher) -> bytes:
    return wire.pack({"format": 2, "whatever": ["that", "may", "be"]})


@attack("a shard of a newer format", NewerFormatError, "s0: it is of format 2")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(s0=wire.pack({"format": 2, "unheard": "of"})), version=_NEW)


@attack("a manifest of a newer format", NewerFormatError, "manifest: it is of format 9")
def _(publisher: Publisher) -> bytes:
    return publisher.sign_files(_files(manifest=wire.pack({"format": 9})), version=_NEW)


@attack("metadata of a newer TUF", FormatError, "targets: not well-formed")
def _(publisher: Publisher) -> bytes:
    held = _new(publisher)
    return _with(held, targets=re.sub(rb'"spec_version":"1\.', b'"spec_version":"2.', held.targets))


for _what, _data in {
    "nothing": b"",
    "JSON": b'{"format": 1}',
    "a pickle": pickle.dumps({"format": 1}),
    "a zip": b"PK\x03\x04" + bytes(100),
    "a FAISS index": b"IxFI" + bytes(100),
}.items():
    attack(_what, FormatError, "container: ")(lambda _, data=_data: data)


class Device:
    """A device that has a bundle, in a folder of its own.

    Args:
        folder: Its folder.
        trust: The trust anchor.
    """

    def __init__(self, folder: Path, trust: bytes) -> None:
        self.bundle, self.options = folder / "me.pdx", {"trust": trust, "audience": AUDIENCE}
        self.doors = {"open": self.open, "apply": self.apply}

    def open(self, file: Path) -> None:
        """Open a file as a bundle."""
        Memory.open(file, encoder=ENCODER, min_version=HELD_VERSION, **self.options)

    def apply(self, file: Path) -> None:
        """Apply a file as a patch, and open the result."""
        output = self.bundle.with_name("output.pdx")
        apply_patch(self.bundle, file, output, **self.options)
        self.open(output)


def _main(folder: Path) -> None:
    import resource

    device = Device(folder, (folder / "root.json").read_bytes())
    device.open(device.bundle)  # what is imported, loaded and started by then is the base
    base = int(re.search(r"VmSize:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) << 10  # type: ignore[index]
    resource.setrlimit(resource.RLIMIT_AS, (base + MEMORY_BYTES, base + MEMORY_BYTES))
    ended = {}
    for file in sorted(folder.glob("attack-*.pdx")):
        for name, door in device.doors.items():
            try:
                door(file)
            except PrefdexError as error:
                ended[f"{file.stem} {name}"] = type(error).__name__
            except MemoryError:
                ended[f"{file.stem} {name}"] = "MemoryError"
    sys.stdout.write(json.dumps(ended))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
