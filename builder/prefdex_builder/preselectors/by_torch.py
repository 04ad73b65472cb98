"""Products by torch: on a GPU where there is one, and else on the CPU, which serves tests."""

from __future__ import annotations

import numpy as np

from prefdex_shared.errors import MissingExtraError
from prefdex_shared.vectors import Float16, Float32, Rows

_PRODUCTS_AT_ONCE = 1 << 28


class TorchPreselector:
    """Preselects by matrix products in full float32; pairs are picked on the device, so that few numbers come back.

    Args:
        preferences: float32, (m, dim).

    Raises:
        MissingExtraError: torch is not installed.
    """

    def __init__(self, preferences: Float32) -> None:
        try:
            import torch
        except ModuleNotFoundError as error:
            raise MissingExtraError("torch", "torch") from error
        self._torch = torch
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # A margin for float32's error would not cover that of TF32.
        torch.set_float32_matmul_precision("highest")
        self._preferences = torch.from_numpy(np.ascontiguousarray(preferences)).to(self._device)
        self._n_at_once = max(_PRODUCTS_AT_ONCE // max(len(preferences), 1), 1)

    def near(self, vectors: Float16, floors: Float32) -> tuple[Rows, Rows]:
        """Return the pairs that may be near; see `Preselector`."""
        at_least = self._torch.from_numpy(floors).to(self._device)
        found = [np.zeros((0, 2), dtype=np.intp)]
        for start in range(0, len(vectors), self._n_at_once):
            # A copy: arrays that were read from a file cannot be written to, which torch wants of its own.
            block = self._torch.from_numpy(vectors[start : start + self._n_at_once].copy()).to(self._device)
            pairs = (block.float() @ self._preferences.T >= at_least).nonzero().cpu().numpy()
            pairs[:, 0] += start
            found.append(pairs)
        both = np.concatenate(found)
        return both[:, 0], both[:, 1]
