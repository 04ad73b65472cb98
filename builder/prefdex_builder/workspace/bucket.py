"""A workspace in an S3-compatible store."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prefdex_shared.errors import ConfigurationError

from .. import s3
from .lease import LOCK_FILE, Holder, Lease, busy

LEASE_S = 60.0
"""A holder that has not renewed its lease for so long is taken for dead."""

_RENEWALS_PER_LEASE = 4
_SETTLING_S = 0.5
_NOT_THERE = {"NoSuchKey", "404", "NotFound"}
_TAKEN = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}


@dataclass(frozen=True, slots=True)
class BucketFiles:
    """Objects under a prefix.

    Attributes:
        bucket: The bucket.
        prefix: Ends in a slash, unless it is empty.
    """

    bucket: str
    prefix: str

    def location(self, path: str) -> str:
        """Return where an object stands, for people."""
        return f"{s3.SCHEME}{self.bucket}/{self.prefix}{path}"

    def exists(self, path: str) -> bool:
        """Whether an object is there."""
        try:
            s3.client().head_object(Bucket=self.bucket, Key=self.prefix + path)
        except s3.errors() as error:
            if s3.code(error) in _NOT_THERE:
                return False
            raise self._failed(path, "read", error) from error
        return True

    def names(self, folder: str) -> list[str]:
        """Return the names of the objects right under a prefix."""
        start = f"{self.prefix}{folder}"
        try:
            return [key.removeprefix(start) for key in s3.keys(self.bucket, start, delimiter="/") if key != start]
        except s3.errors() as error:
            raise self._failed(folder, "listed", error) from error

    def read(self, path: str) -> bytes:
        """Read an object.

        Raises:
            OSError: There is no such object.
            ConfigurationError: The store refuses.
        """
        try:
            data: bytes = s3.client().get_object(Bucket=self.bucket, Key=self.prefix + path)["Body"].read()
        except s3.errors() as error:
            if s3.code(error) in _NOT_THERE:
                raise FileNotFoundError(f"{self.location(path)} is not there") from error
            raise self._failed(path, "read", error) from error
        return data

    def write(self, path: str, data: bytes) -> None:
        """Write an object; stores make it appear whole."""
        try:
            s3.client().put_object(Bucket=self.bucket, Key=self.prefix + path, Body=data)
        except s3.errors() as error:
            raise self._failed(path, "written", error) from error

    def remove(self, path: str) -> None:
        """Remove an object, if it is there."""
        try:
            s3.client().delete_object(Bucket=self.bucket, Key=self.prefix + path)
        except s3.errors() as error:
            raise self._failed(path, "removed", error) from error

    @contextmanager
    def locked(self) -> Iterator[Lease]:
        """Hold the workspace against other builds, by an object that is renewed as long as this process lives.

        Raises:
            ConfigurationError: Another one holds it.
        """
        mine, lease, done = Holder.now(), Lease(), threading.Event()
        self._take(mine)
        renewing = threading.Thread(target=self._renew, args=(mine, lease, done), daemon=True)
        renewing.start()
        try:
            yield lease
        finally:
            done.set()
            renewing.join()
            if self._holder() == mine.token:
                self.remove(LOCK_FILE)

    def _take(self, mine: Holder) -> None:
        conditions: dict[str, str] = {"IfNoneMatch": "*"}
        if self.exists(LOCK_FILE):
            held = s3.client().get_object(Bucket=self.bucket, Key=self.prefix + LOCK_FILE)
            holder = Holder.from_json(held["Body"].read())
            if holder.age_s() < LEASE_S:
                raise busy(self.location(""), holder)
            # Not every store takes the quotes that it sends.
            conditions = {"IfMatch": held["ETag"].strip('"')}
        try:
            body = _body(mine)
            s3.client().put_object(Bucket=self.bucket, Key=self.prefix + LOCK_FILE, Body=body, **conditions)
        except s3.errors() as error:
            if s3.code(error) not in _TAKEN:
                raise self._failed(LOCK_FILE, "written", error) from error
            raise busy(self.location(""), Holder.from_json(self.read(LOCK_FILE))) from None
        # Some stores ignore the condition: of two who wrote at once, the last one has it.
        time.sleep(_SETTLING_S)
        holder = Holder.from_json(self.read(LOCK_FILE))
        if holder.token != mine.token:
            raise busy(self.location(""), holder)

    def _renew(self, mine: Holder, lease: Lease, done: threading.Event) -> None:
        while not done.wait(LEASE_S / _RENEWALS_PER_LEASE):
            try:
                if self._holder() != mine.token:
                    lease.lost.set()
                    return
                self.write(LOCK_FILE, _body(mine))
            except ConfigurationError:
                continue  # the next renewal may succeed; if none does, another build takes over

    def _holder(self) -> str:
        try:
            return Holder.from_json(self.read(LOCK_FILE)).token
        except OSError:
            return ""

    def _failed(self, path: str, what: str, error: Exception) -> ConfigurationError:
        why = s3.code(error) or type(error).__name__
        hint = "Check the bucket, the endpoint and the credentials."
        return ConfigurationError(f"{self.location(path)} cannot be {what}: {why}.", hint=hint)


def _body(mine: Holder) -> bytes:
    return json.dumps(Holder.now(mine.token).to_dict()).encode()
