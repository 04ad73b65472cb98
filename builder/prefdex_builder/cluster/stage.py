"""What can be run on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

Call = Callable[[pa.Table], pa.Table]
"""A plain function from a batch to a batch; called again with the same batch, it gives the same."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one worker of a stage takes.

    Attributes:
        cpus: CPU cores.
        gpus: GPUs.
    """

    cpus: float = 1.0
    gpus: float = 0.0


ONE_CPU = Resources()
ONE_GPU = Resources(gpus=1.0)


class Stage(Protocol):
    """A stage: small, picklable settings that a worker turns into a function, loading its models once."""

    @property
    def name(self) -> str:
        """A verb, for progress and messages."""
        ...

    @property
    def resources(self) -> Resources:
        """What one worker takes."""
        ...

    def load(self) -> Call:
        """Return the function, with its models loaded."""
        ...
