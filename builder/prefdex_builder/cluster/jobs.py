"""Handing a command to a running Ray cluster, through Ray's own job API."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from prefdex_shared.errors import BuildError, ConfigurationError

JOIN = "auto"
"""Address by which a job joins the cluster that runs it."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job that ended well.

    Attributes:
        job: Its id on the cluster.
        last_line: The last line that it printed.
    """

    job: str
    last_line: str


def submit(dashboard: str, arguments: Sequence[str], *, show: Callable[[str], object]) -> JobReport:
    """Run a command of `prefdex` on a cluster, and wait for it.

    Args:
        dashboard: Address of the cluster's dashboard, `http://HOST:8265`.
        arguments: The command and its options; what they name must be visible on the cluster.
        show: Called with the job's id, and with each line that it prints.

    Raises:
        ConfigurationError: The dashboard cannot be reached.
        BuildError: The job failed, or was stopped.
    """
    from ray.job_submission import JobStatus, JobSubmissionClient

    try:
        client = JobSubmissionClient(dashboard)
        entrypoint = shlex.join(["python", "-m", "prefdex_builder", *arguments, "--address", JOIN])
        job = str(client.submit_job(entrypoint=entrypoint))
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            f"No job can be submitted at {dashboard}: {str(error).splitlines()[0]}",
            hint="Give the address of the dashboard, http://HOST:8265, and check that it runs.",
        ) from error
    show(f"job {job}; it goes on if this command ends")
    last_line = asyncio.run(_follow(client, job, show))
    status = client.get_job_status(job)
    if status != JobStatus.SUCCEEDED:
        raise BuildError(
            f"Job {job} ended as {str(status).lower()}: {last_line or 'it printed nothing'}",
            hint="Its log says more. What was finished is kept: submit the same command again.",
        )
    return JobReport(job, last_line)


async def _follow(client: Any, job: str, show: Callable[[str], object]) -> str:
    last = ""
    async for text in client.tail_job_logs(job):
        for line in text.splitlines():
            show(line)
            last = line.strip() or last
    return last
