"""Running the device's program as a device would: as a process of its own. The builder never imports the client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefdex_shared.errors import BuildError

_PROGRAM = (sys.executable, "-m", "prefdex_client", "query")


@dataclass(frozen=True, slots=True)
class Device:
    """What a device has.

    Attributes:
        bundle: A `.pdx` file.
        trust: The publisher's `root.json`.
        encoder: The encoder folder.
        audience: Whose bundle it must be.
    """

    bundle: Path
    trust: Path
    encoder: str
    audience: str

    def print_answers(self, questions: Sequence[str], *, k: int, options: Sequence[str] = ()) -> int:
        """Ask questions; the program prints the answers, or two lines about an error.

        Returns:
            The program's exit code.
        """
        return subprocess.run(self._arguments(questions, k, options), check=False).returncode  # noqa: S603

    def ask(self, questions: Sequence[str], *, k: int, options: Sequence[str] = ()) -> list[list[dict[str, Any]]]:
        """Ask questions.

        Returns:
            The hits of each question, as `prefdex-client query --json` gives them.

        Raises:
            BuildError: The program failed.
        """
        arguments = self._arguments(questions, k, ["--json", *options])
        done = subprocess.run(arguments, check=False, capture_output=True, text=True)  # noqa: S603
        if done.returncode:
            raise BuildError(f"prefdex-client failed: {done.stderr.strip()}")
        return [answer["hits"] for answer in json.loads(done.stdout)["answers"]]

    def _arguments(self, questions: Sequence[str], k: int, options: Sequence[str]) -> list[str]:
        given = ["--trust", str(self.trust), "--encoder", self.encoder, "--audience", self.audience, "-k", str(k)]
        return [*_PROGRAM, *given, *options, "--", str(self.bundle), *questions]
