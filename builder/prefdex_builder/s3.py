"""Objects in S3-compatible stores, through boto3, which finds endpoint and credentials as it always does."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from prefdex_shared.errors import ConfigurationError, MissingExtraError

SCHEME = "s3://"

_MAX_ATTEMPTS = 5
_CONNECT_TIMEOUT_S = 10
_READ_TIMEOUT_S = 60


def split(address: str) -> tuple[str, str]:
    """Return bucket and key of `s3://bucket/key`.

    Raises:
        ConfigurationError: There is no bucket in it.
    """
    bucket, _, key = address.removeprefix(SCHEME).partition("/")
    if not bucket or not address.startswith(SCHEME):
        raise ConfigurationError(f"{address!r} is not an address in S3.", hint="Use s3://bucket/prefix.")
    return bucket, key


def client() -> Any:
    """Return this process's client.

    Raises:
        MissingExtraError: boto3 is not installed.
    """
    return _client(tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_"))))


@cache
def _client(environment: tuple[tuple[str, str], ...]) -> Any:
    """A client takes a tenth of a second to make; another environment asks for another one."""
    del environment
    try:
        import boto3
        from botocore.config import Config
    except ModuleNotFoundError as error:
        raise MissingExtraError("boto3", "builder") from error
    config = Config(
        retries={"mode": "standard", "max_attempts": _MAX_ATTEMPTS},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
    )
    return boto3.client("s3", config=config)


def errors() -> tuple[type[Exception], ...]:
    """Return what the client raises."""
    from botocore.exceptions import BotoCoreError, ClientError

    return BotoCoreError, ClientError


def code(error: Exception) -> str:
    """Return the store's code of an error, such as `NoSuchKey`; empty if it never answered."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", ""))


def keys(bucket: str, prefix: str, delimiter: str = "") -> list[str]:
    """Return the keys under a prefix; with a delimiter, only those without it in what follows."""
    pages = client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix, Delimiter=delimiter)
    return [item["Key"] for page in pages for item in page.get("Contents", [])]
