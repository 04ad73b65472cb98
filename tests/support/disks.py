"""Disks that fail at a chosen step, as when the power is cut or the space runs out."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from pathlib import Path

from prefdex_client.store.disk import Disk


class PowerCutError(BaseException):
    """The power failed. Nothing may catch it."""


class CuttingDisk(Disk):
    """Cuts the power at a step: what was not synced by then may be lost.

    Args:
        at: The step, from 0; the power stays on if there are fewer.
        rng: Decides what is lost of what was not synced.
    """

    def __init__(self, at: int, rng: random.Random) -> None:
        self._left, self._rng = at, rng
        self._undo: dict[Path, list[Callable[[], None]]] = {}
        self.n_steps = 0

    def write(self, path: Path, data: bytes) -> None:
        """Write a file, or a part of it."""
        self._step(lambda: path.write_bytes(data[: self._rng.randint(0, len(data))]))
        super().write(path, data)
        # Its content is safe, and its name is not.
        self._not_synced(path.parent, lambda: path.unlink(missing_ok=True))

    def rename(self, source: Path, target: Path) -> None:
        """Rename a file."""
        self._step()
        before = target.read_bytes() if target.exists() else None
        moved = source.read_bytes()

        def undo() -> None:
            source.write_bytes(moved)
            target.unlink(missing_ok=True) if before is None else target.write_bytes(before)

        super().rename(source, target)
        self._not_synced(target.parent, undo)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        self._step()
        before = path.read_bytes() if path.exists() else None
        super().remove(path)
        if before is not None:
            self._not_synced(path.parent, lambda: path.write_bytes(before) and None)

    def sync(self, folder: Path) -> None:
        """Sync a folder."""
        self._step()
        super().sync(folder)
        self._undo.pop(folder, None)

    def _not_synced(self, folder: Path, undo: Callable[[], None]) -> None:
        self._undo.setdefault(folder, []).append(undo)

    def _step(self, half: Callable[[], object] = lambda: None) -> None:
        self.n_steps += 1
        if self._left == 0:
            half()
            for undos in self._undo.values():
                # A file system loses the last of its changes, not some in the middle.
                n_lost = self._rng.randint(0, len(undos))
                for undo in reversed(undos[len(undos) - n_lost :]):
                    undo()
            raise PowerCutError
        self._left -= 1


class FullDisk(Disk):
    """Has room for so many more bytes.

    Args:
        n_bytes: How many.
    """

    def __init__(self, n_bytes: int) -> None:
        self._left = n_bytes

    def write(self, path: Path, data: bytes) -> None:
        """Write a file, if there is room."""
        self._left -= len(data)
        if self._left < 0:
            path.write_bytes(data[: len(data) + self._left] if -self._left < len(data) else b"")
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(path, data)
