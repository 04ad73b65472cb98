"""Who works on a workspace: one build at a time."""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone

from prefdex_shared.errors import BuildError, ConfigurationError

LOCK_FILE = "lock.json"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that works on a workspace.

    Attributes:
        host: Its machine.
        process: Its number there.
        since: When it began or, for a lease that must be renewed, when it last did, ISO 8601 in UTC.
        token: Distinguishes it from all others.
    """

    host: str = "another machine"
    process: int = 0
    since: str = ""
    token: str = ""

    @classmethod
    def now(cls, token: str | None = None) -> Holder:
        """Return this process."""
        since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        return cls(socket.gethostname(), os.getpid(), since, token or uuid.uuid4().hex)

    @classmethod
    def from_json(cls, data: bytes) -> Holder:
        """Read a holder; what is damaged tells nothing, and is nobody's fault."""
        try:
            fields = json.loads(data)
            return cls(str(fields["host"]), int(fields["process"]), str(fields["since"]), str(fields["token"]))
        except (ValueError, KeyError, TypeError):
            return cls()

    def to_dict(self) -> dict[str, object]:
        """Return the holder for JSON."""
        return asdict(self)

    def age_s(self) -> float:
        """Return the seconds since `since`; endless if that cannot be read."""
        try:
            return (datetime.now(timezone.utc) - datetime.fromisoformat(self.since)).total_seconds()
        except (ValueError, TypeError):
            return float("inf")


@dataclass(frozen=True, slots=True)
class Lease:
    """A workspace that is held.

    Attributes:
        lost: Set once another process has taken it, which can only happen to one that was cut off for long.
    """

    lost: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Make sure that it is still held.

        Raises:
            BuildError: It is lost.
        """
        if self.lost.is_set():
            raise BuildError(
                "This build was cut off from its workspace for so long that another one took it.",
                hint="What was finished is kept: run the same command again.",
            )


def busy(workspace: str, holder: Holder) -> ConfigurationError:
    """Return the error for a workspace that another process holds."""
    since = f" since {holder.since}" if holder.since else ""
    return ConfigurationError(
        f"Process {holder.process} on {holder.host} works on {workspace}{since}.",
        hint="Wait until it is done; what it finishes need not be done again.",
    )
