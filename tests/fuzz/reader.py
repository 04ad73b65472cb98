"""Fuzzes everything that a device reads: `python tests/fuzz/reader.py SECONDS NEW_SEEDS SEEDS`.

The first byte of an input chooses what reads the rest. Whatever it is, a reader takes it or raises one of our own
errors, in a process that cannot get more than 256 MB above its base; what it takes has one encoding. Coverage guides
it where atheris is installed; elsewhere, seeds are changed at random.
"""

from __future__ import annotations

import random
import re
import resource
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path

import brotli
import numpy as np

# Tests that import this module are not to be traced.
GUIDED = __name__ == "__main__" and find_spec("atheris") is not None
tracing: AbstractContextManager[None] = nullcontext()
if GUIDED:
    import atheris

    tracing = atheris.instrument_imports(include=["prefdex_client", "prefdex_shared", "tuf"])

with tracing:
    from prefdex_client.local import window
    from prefdex_client.store import state
    from prefdex_shared import container, manifest, metadata, patching, shard, trust, wire
    from prefdex_shared.errors import PrefdexError
    from prefdex_shared.records import Chunk

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
ROOT = (GOLDEN / "root.json").read_bytes()
OLD = container.decode((GOLDEN / "v1.pdx").read_bytes())
SHARD = wire.unpack(OLD.files["s0"], "s0", shard.MAX_SHARD_BYTES)
AUDIENCE = "u-1"
MEMORY_BYTES = 256 << 20


def _container(data: bytes) -> None:
    held = container.decode(data)
    assert container.encode(held) == data
    trust.verify(held, trust=ROOT, audience=AUDIENCE)


def _patch(data: bytes) -> None:
    patching.apply(OLD, container.decode(data), trust=ROOT, audience=AUDIENCE)


def _targets(data: bytes) -> None:
    assert metadata.canonical_bytes(metadata.read_targets(data)) == data
    trust.verify(container.Container(OLD.roots, data, OLD.files), trust=ROOT, audience=AUDIENCE)


def _root(data: bytes) -> None:
    held = metadata.read_root(data)
    assert metadata.canonical_bytes(held) == data
    trust.verify(container.Container((data,), OLD.targets, OLD.files), trust=ROOT, audience=AUDIENCE)


def _anchor(data: bytes) -> None:
    metadata.read_anchor(data)


def _manifest(data: bytes) -> None:
    assert manifest.encode(manifest.decode(data)) == data


def _shard(data: bytes) -> None:
    shard.decode(data, "s0")


def _body(data: bytes) -> None:
    # Compressed here: no change of a compressed stream would lead far.
    shard.decode(wire.pack({**SHARD, "body": brotli.compress(data, quality=0)}), "s0")  # type: ignore[dict-item]


def _codes(data: bytes) -> None:
    shard.decode(wire.pack({**SHARD, "codes": brotli.compress(data, quality=0)}), "s0")  # type: ignore[dict-item]


def _state(data: bytes) -> None:
    assert state.encode(state.decode(data)) == data


def _window(data: bytes) -> None:
    window.decode(data)


READERS: tuple[Callable[[bytes], None], ...] = (
    _container,
    _patch,
    _targets,
    _root,
    _anchor,
    _manifest,
    _shard,
    _body,
    _codes,
    _state,
    _window,
)


def read(data: bytes) -> None:
    """Give an input to the reader that it names."""
    if data:
        try:
            READERS[data[0] % len(READERS)](data[1:])
        except PrefdexError as error:
            # Seconds and megabytes of message would be a fault too.
            assert len(str(error)) < 500


def seeds() -> dict[str, bytes]:
    """Return inputs that are taken, by name: the golden files and their parts."""
    held_here = state.State(AUDIENCE, bytes(32), 3, ("k",), ("r",), ("v",), {"t": True}, {"f": "t"}, ("I like tea",))
    chunk = window.WindowChunk(Chunk("Tea grows on hills.", "Tea", "made up"), np.ones(4, np.float16))
    inputs = {
        "anchor": (4, ROOT),
        "root": (3, ROOT),
        "state": (9, state.encode(held_here)),
        "window": (10, window.encode(chunk)),
    }
    for file in sorted(GOLDEN.glob("*.pdx")):
        held, name = container.decode(file.read_bytes()), file.stem
        inputs |= {f"container-{name}": (0, file.read_bytes()), f"patch-{name}": (1, file.read_bytes())}
        inputs |= {f"targets-{name}": (2, held.targets)}
        inputs |= {f"root-{name}-{number}": (3, root) for number, root in enumerate(held.roots)}
        for part, data in held.files.items():
            inputs[f"{part}-{name}"] = (5 if part == "manifest" else 6, data)
            if part != "manifest":
                outer = wire.unpack(data, part, shard.MAX_SHARD_BYTES)
                inputs[f"body-{part}-{name}"] = (7, brotli.decompress(outer["body"]))  # type: ignore[index]
                inputs[f"codes-{part}-{name}"] = (8, brotli.decompress(outer["codes"]))  # type: ignore[index]
    return {name: bytes([reader]) + data for name, (reader, data) in inputs.items()}


def _cap_memory() -> None:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    base = int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10  # type: ignore[index]
    resource.setrlimit(resource.RLIMIT_AS, (base + MEMORY_BYTES, base + MEMORY_BYTES))


def _unguided(seconds: float, inputs: list[bytes]) -> int:
    rng, ends, n = random.Random(0), time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        data = bytearray(rng.choice(inputs))
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(1, len(data) + 1)
            data[at : at + rng.choice((0, 1, 1, 4))] = rng.choice((b"", rng.randbytes(1), rng.randbytes(4), data[at:]))
        read(bytes(data))
        n += 1
    return n


def main(seconds: int, new: Path, folder: Path) -> None:
    """Fuzz for some seconds."""
    for name, data in seeds().items():
        (new / name).write_bytes(data)
    _cap_memory()
    if not GUIDED:
        inputs = [file.read_bytes() for each in (new, folder) for file in each.iterdir()]
        sys.stderr.write(f"Done {_unguided(seconds, inputs)} runs\n")
        return
    options = [f"-max_total_time={seconds}", "-max_len=8192", "-timeout=10", f"-artifact_prefix={new}/"]
    atheris.Setup([sys.argv[0], *options, str(new), str(folder)], read)
    atheris.Fuzz()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
