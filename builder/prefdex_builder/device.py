"""Running the device's program as a device would: as a process of its own. The builder never imports the client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prefdex_shared.errors import BuildError

_PROGRAM = (sys.executable, "-m", "prefdex_client")


def run(
    bundle: Path,
    questions: Sequence[str],
    *,
    trust: Path,
    encoder: str,
    audience: str,
    k: int,
    options: Sequence[str] = (),
) -> int:
    """Ask a bundle questions; the program prints the answers, or two lines about an error.

    Returns:
        The program's exit code.
    """
    arguments = _arguments(bundle, questions, trust=trust, encoder=encoder, audience=audience, k=k, options=options)
    return subprocess.run(arguments, check=False).returncode  # noqa: S603 - our own program


def ask(
    bundle: Path, questions: Sequence[str], *, trust: Path, encoder: str, audience: str, k: int, unsteered: bool = False
) -> list[dict[str, Any]]:
    """Ask a bundle questions.

    Returns:
        For each question {"question", "hits"}, as `prefdex-client query --json` gives them.

    Raises:
        BuildError: The program failed.
    """
    options = ["--json", *(["--unsteered"] if unsteered else [])]
    arguments = _arguments(bundle, questions, trust=trust, encoder=encoder, audience=audience, k=k, options=options)
    done = subprocess.run(arguments, check=False, capture_output=True, text=True)  # noqa: S603 - our own program
    if done.returncode:
        raise BuildError(f"prefdex-client failed: {done.stderr.strip()}")
    answers: list[dict[str, Any]] = json.loads(done.stdout)["answers"]
    return answers


def _arguments(
    bundle: Path,
    questions: Sequence[str],
    *,
    trust: Path,
    encoder: str,
    audience: str,
    k: int,
    options: Sequence[str],
) -> list[str]:
    named = ["--trust", str(trust), "--encoder", encoder, "--audience", audience, "-k", str(k), *options]
    return [*_PROGRAM, "query", *named, "--", str(bundle), *questions]
