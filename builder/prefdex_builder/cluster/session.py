"""Ray Data as the engine: a local Ray in this process by default, or a running cluster by its address."""

from __future__ import annotations

import logging
import os
import pickle
import socket
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from prefdex_shared.errors import BuildError, ConfigurationError, PrefdexError

from .jobs import JOIN
from .stage import Call, Stage

_MIN_LOGICAL_CPUS = 4
_OBJECT_STORE_BYTES = 200 << 20
_CONNECT_TIMEOUT_S = 10.0
_ERROR = "prefdex_error"


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """Where stages run.

    Attributes:
        address: Address of a running Ray cluster, or `auto` for a job that runs on it; None starts a local Ray.
        n_workers: Workers per stage; None takes one per CPU core of this machine.
    """

    address: str | None = None
    n_workers: int | None = None

    def __post_init__(self) -> None:
        if self.n_workers is not None and self.n_workers < 1:
            raise ConfigurationError(f"There must be at least 1 worker, not {self.n_workers}.")


class Session:
    """A connection to Ray. Made by `start`.

    Args:
        n_workers: Workers per stage.
    """

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers

    def run(self, stage: Stage, blocks: Sequence[pa.Table]) -> Iterator[pa.Table]:
        """Run a stage over blocks.

        Args:
            stage: The stage.
            blocks: One call each.

        Yields:
            The result of each block, in any order.

        Raises:
            PrefdexError: A worker raised it.
            BuildError: Ray gave up.
        """
        if not blocks:
            return
        import ray.data
        import ray.exceptions

        resources = stage.resources
        if resources.gpus > ray.cluster_resources().get("GPU", 0.0):
            raise ConfigurationError(
                f"The stage {stage.name!r} runs on GPUs, and this Ray has none.",
                hint="Join a cluster that has one with --address, or choose an engine for CPUs.",
            )
        dataset = ray.data.from_arrow(list(blocks)).map_batches(
            _Worker,
            fn_constructor_args=(stage,),
            batch_size=None,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=min(self._n_workers, len(blocks))),
            num_cpus=resources.cpus,
            num_gpus=resources.gpus,
        )
        try:
            for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                _raise_error_of(table)
                yield table
        except ray.exceptions.RayError as error:
            raise BuildError(
                f"Ray gave up on the stage {stage.name!r} ({type(error).__name__}).",
                hint="What was finished is kept: run the same command again. Ray's own log says more.",
            ) from error


@contextmanager
def start(config: ClusterConfig) -> Iterator[Session]:
    """Start or join Ray, and leave it again.

    Raises:
        ConfigurationError: The cluster cannot be reached.
    """
    if config.address and config.address != JOIN:
        _check_reachable(config.address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray's core prints a line about restarts on the terminal for every pool of workers.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    import ray
    import ray.data

    n_cores = os.cpu_count() or 1
    n_workers = config.n_workers or n_cores
    common = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    try:
        with _quiet_stderr():
            if config.address:
                ray.init(address=config.address, **common)
            else:
                # Ray Data's own operators need logical CPUs beside those of our workers.
                ray.init(
                    address="local",
                    num_cpus=max(_MIN_LOGICAL_CPUS, n_workers + 2),
                    include_dashboard=False,
                    object_store_memory=_OBJECT_STORE_BYTES,
                    **common,
                )
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = config.address or "this machine"
        raise ConfigurationError(f"Ray cannot be reached at {where}: {error}".splitlines()[0]) from error
    ray.data.DataContext.get_current().enable_progress_bars = False
    # It logs the stack of every error that it also raises.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    try:
        yield Session(n_workers)
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Refuse an address where nothing listens at once; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ConfigurationError(f"{address!r} is not the address of a Ray cluster.", hint="Use HOST:PORT.")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise ConfigurationError(
            f"Ray cannot be reached at {address}: {error.strerror or error}.",
            hint="Check that the cluster runs, and that this machine may connect to its head node.",
        ) from error


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Drop what Ray's core writes to the terminal while it starts; its errors come as exceptions."""
    saved = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


class _Worker:
    """What Ray makes once per worker.

    Errors travel back as results: Ray would wrap them, log their stacks, and show the texts in them.
    """

    def __init__(self, stage: Stage) -> None:
        self._name = stage.name
        self._call: Call | None = None
        self._error: PrefdexError | None = None
        try:
            self._call = stage.load()
        except Exception as error:  # noqa: BLE001 - every error goes back to the driver
            self._error = self._own(error)

    def __call__(self, batch: pa.Table) -> pa.Table:
        try:
            if self._call is not None:
                return self._call(batch)
        except Exception as error:  # noqa: BLE001 - every error goes back to the driver
            self._error = self._own(error)
        return pa.table({_ERROR: [pickle.dumps(self._error)]})

    def _own(self, error: Exception) -> PrefdexError:
        if isinstance(error, PrefdexError):
            return error
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return BuildError(
            f"The stage {self._name!r} failed on a worker: {type(error).__name__} at {place}.",
            hint="This is a fault of prefdex or of an engine. What was finished is kept.",
        )


def _raise_error_of(table: pa.Table) -> None:
    if table.column_names == [_ERROR]:
        raise pickle.loads(table[_ERROR][0].as_py())  # noqa: S301 - from our own worker, as all that Ray carries
