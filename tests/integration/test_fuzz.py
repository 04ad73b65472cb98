"""Nothing that a device can be given makes its reader fail in a way of its own."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fuzz.reader import READERS, seeds
from prefdex_shared.errors import PrefdexError

HARNESS = Path(__file__).resolve().parents[1] / "fuzz" / "reader.py"
SEEDS = HARNESS.parent / "seeds"


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [20, pytest.param(600, marks=pytest.mark.soak)])
def test_fuzz(seconds: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HARNESS, str(seconds), tmp_path, SEEDS],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    [runs] = re.findall(r"Done (\d+) runs", done.stderr)
    assert int(runs) > len(seeds())


def test_every_reader_takes_a_seed() -> None:
    """Else a reader would refuse all that it is given at its first byte, and the fuzzer see nothing of it."""
    taken = set()
    for data in seeds().values():
        with suppress(PrefdexError):
            READERS[data[0]](data[1:])
            taken.add(data[0])
    assert taken == set(range(len(READERS)))
