"""Writing the store's folder: what is new, then the state, then the removal of what it no longer names.

Files and metadata are never changed: they stand under the name of their content. So whichever step is the last before
the power fails, the store is as it was before or as it was to be, and the next writer removes what is left over.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from prefdex_shared.errors import ConfigurationError, FormatError

from . import state
from .disk import Disk
from .planning import Plan
from .reading import FILES, METADATA, STATE_FILE, StoreReader
from .state import State

LOCK = "lock"

_UNFINISHED = ".unfinished"
_LOCK_TIMEOUT_S = 10.0
_POLL_S = 0.02


class StoreWriter:
    """Writes a store's folder; one process at a time.

    Args:
        reader: Reads it.
        disk: Does the steps.
    """

    def __init__(self, reader: StoreReader, disk: Disk) -> None:
        self._reader, self._folder, self._disk = reader, reader.folder, disk

    def create(self, audience: str) -> None:
        """Make an empty store of a new or an empty folder.

        Raises:
            ConfigurationError: The folder holds something else, or cannot be written.
            FormatError: It is a store that lost its state.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            ours = {LOCK, FILES, METADATA, STATE_FILE, STATE_FILE + _UNFINISHED}
            if not {path.name for path in self._folder.iterdir()} <= ours:
                raise ConfigurationError(
                    f"{self._folder} holds something else than a store.", hint="Choose a new or an empty folder."
                )
            for name in (FILES, METADATA):
                (self._folder / name).mkdir(exist_ok=True)
                if any(not path.name.endswith(_UNFINISHED) for path in (self._folder / name).iterdir()):
                    raise FormatError(
                        f"The state of the store {self._folder} is missing.",
                        hint="Make a new store, and apply a bundle.",
                    )
        except OSError as error:
            raise ConfigurationError(f"{self._folder} cannot be written: {error.strerror or error}.") from error
        with self._locked():
            if not (self._folder / STATE_FILE).exists():
                self._put(self._folder / STATE_FILE, state.encode(State.new(audience)))

    @contextmanager
    def writing(self) -> Iterator[State]:
        """Hold the lock, and begin with a clean folder.

        Raises:
            ConfigurationError: Another process does not let go of it, or the disk fails; the store is as it was.
        """
        with self._locked():
            now = self._reader.state()
            self._collect(now)
            yield now

    def commit(self, now: State, plan: Plan) -> Mapping[str, bytes]:
        """Carry out a plan; return the files that were new, by hash."""
        new = {
            path: data
            for name, content in ((FILES, plan.files), (METADATA, plan.metadata))
            for digest, data in content.items()
            if not (path := self._folder / name / digest).exists()
        }
        for path, data in new.items():
            self._put(path, data, sync=False)
        for folder in sorted({path.parent for path in new}):
            self._disk.sync(folder)
        if plan.state != now:
            self._put(self._folder / STATE_FILE, state.encode(plan.state))
            self._collect(plan.state)
        return {path.name: data for path, data in new.items() if path.parent.name == FILES}

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = None
        try:
            descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            _lock(descriptor)
            yield
        except OSError as error:
            raise ConfigurationError(
                f"The store {self._folder} cannot be written: {error.strerror or error}. No version was lost.",
                hint="Free some space, or check the disk; then try again.",
            ) from error
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def _put(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        unfinished = path.with_name(path.name + _UNFINISHED)
        self._disk.write(unfinished, data)
        self._disk.rename(unfinished, path)
        if sync:
            self._disk.sync(path.parent)

    def _collect(self, now: State) -> None:
        """Remove what no version names, what was forgotten, and what was left unfinished."""
        hashes = [digest for targets in now.versions for digest in self._reader.named(targets).values()]
        signed = {each for each in hashes if now.file_tag(each) not in now.erased}
        self._keep_only(self._folder / FILES, {*signed, *now.local.values(), *now.window})
        self._keep_only(self._folder / METADATA, {*now.roots, *now.versions})

    def _keep_only(self, folder: Path, kept: set[str]) -> None:
        if left_over := sorted(path for path in folder.iterdir() if path.name not in kept):
            for path in left_over:
                self._disk.remove(path)
            self._disk.sync(folder)


def _lock(descriptor: int) -> None:
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ConfigurationError(
                    f"Another process has been writing to the store for {_LOCK_TIMEOUT_S:.0f} seconds.",
                    hint="Wait for it, or end it; then try again.",
                ) from None
            time.sleep(_POLL_S)
        else:
            return
