"""`prefdex-client doctor`: what is wrong with this device, and what to do about it."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from prefdex_shared.encoder import OnnxEncoder
from prefdex_shared.errors import ConfigurationError, PrefdexError
from prefdex_shared.metadata import read_anchor

from ..memory import Memory, read_trust
from ..store import STATE_FILE, DeviceStore
from .output import emit, say

MIN_GOLDEN_COSINE = 0.98
"""Below this the vectors of this machine no longer compare with those of the bundle."""

MIN_FREE_BYTES = 64 << 20
"""Room for several versions of the largest bundle."""

_LIBRARIES = ("numpy", "msgpack", "brotli", "tuf", "securesystemslib", "cryptography", "onnxruntime", "tokenizers")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check.

    Attributes:
        check: What was checked.
        ok: Whether it is as it should be.
        message: What was found.
        hint: What to do; empty when it is fine.
    """

    check: str
    ok: bool
    message: str
    hint: str = ""


def run(options: argparse.Namespace) -> int:
    """Run the checks that the arguments allow; exit code 1 if one fails."""
    findings = list(_findings(options))
    ok = all(finding.ok for finding in findings)
    if options.json:
        emit({"ok": ok, "findings": findings})
        return 0 if ok else 1
    for finding in findings:
        say(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.check}: {finding.message}")
        if finding.hint:
            say(f"      try: {finding.hint}")
    return 0 if ok else 1


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    yield Finding("python", True, f"{platform.python_version()} on {platform.machine()}")
    for library in _LIBRARIES:
        yield _library(library)
    yield _faiss()
    encoder = None
    if options.encoder:
        encoder, finding = _checked("encoder", lambda: _encoder(options.encoder))
        yield finding
    if options.trust:
        yield _checked("trust", lambda: (None, _trust(options.trust)))[1]
    if options.bundle:
        yield from _memory("bundle", options, lambda given: _open_bundle(options, encoder or given))
    if options.store:
        yield _checked("disk", lambda: (None, _disk(options.store)))[1]
        yield from _memory("store", options, lambda given: _open_store(options, encoder or given))


def _library(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False, "not installed", "pip install 'prefdex[client]'")


def _faiss() -> Finding:
    try:
        return Finding("faiss-cpu", True, version("faiss-cpu"))
    except PackageNotFoundError:
        return Finding("faiss-cpu", True, "not installed, nor needed: numpy ranks unless an app asks for FAISS")


def _checked(
    check: str, run_check: Callable[[], tuple[OnnxEncoder | None, Finding]]
) -> tuple[OnnxEncoder | None, Finding]:
    try:
        return run_check()
    except PrefdexError as error:
        return None, Finding(check, False, str(error), error.hint)


def _encoder(folder: str) -> tuple[OnnxEncoder, Finding]:
    encoder = OnnxEncoder.load(folder)
    golden = encoder.check()
    message = (
        f"{encoder.id[:12]}, golden sentences: cosine {golden.mean_cosine:.4f} mean, {golden.min_cosine:.4f} worst"
    )
    if golden.min_cosine < MIN_GOLDEN_COSINE:
        hint = "This processor computes the model differently: use the fp32 encoder."
        return encoder, Finding("encoder", False, message, hint)
    return encoder, Finding("encoder", True, message)


def _trust(file: str) -> Finding:
    root = read_anchor(read_trust(file)).signed
    message = f"root.json version {root.version}, valid until {root.expires:%Y-%m-%d}"
    if root.is_expired():
        return Finding("trust", False, message, "It has expired: get a newer one with the app, or check the clock.")
    return Finding("trust", True, message)


def _disk(folder: str) -> Finding:
    place = next(each for each in (Path(folder), *Path(folder).absolute().parents) if each.exists())
    free = shutil.disk_usage(place).free
    message = f"{free / 1e6:,.0f} MB free"
    if free < MIN_FREE_BYTES:
        return Finding("disk", False, message, f"Free some space: a new version may need {MIN_FREE_BYTES >> 20} MB.")
    if not os.access(place, os.W_OK):
        return Finding("disk", False, f"{place} cannot be written", "Change its owner or its permissions.")
    return Finding("disk", True, message)


def _memory(check: str, options: argparse.Namespace, open_memory: Callable[[str], Memory]) -> Iterator[Finding]:
    """Check a bundle or a store, and the clock by it."""
    memory, finding = _checked_memory(check, options, open_memory)
    yield finding
    if memory is not None:
        yield _clock(memory.stats().issued)


def _checked_memory(
    check: str, options: argparse.Namespace, open_memory: Callable[[str], Memory]
) -> tuple[Memory | None, Finding]:
    if not (options.trust and options.audience and options.encoder):
        message = f"Checking a {check} needs --trust, --audience and --encoder."
        return None, Finding(check, False, message, "Give all three.")
    try:
        memory = open_memory(options.encoder)
    except PrefdexError as error:
        return None, Finding(check, False, str(error), error.hint)
    stats = memory.stats()
    waiting = sum(each.origin == "pending" for each in memory.preferences)
    pending = f", {waiting} preferences wait for their shards" if waiting else ""
    message = f"version {stats.version}, {stats.n_entries} entries, valid until {stats.expires:%Y-%m-%d}{pending}"
    if stats.stale:
        return memory, Finding(check, False, message, "It is past its expiry: fetch a newer one, or check the clock.")
    return memory, Finding(check, True, message)


def _clock(issued: datetime) -> Finding:
    now = datetime.now(timezone.utc)
    message = f"{now:%Y-%m-%d %H:%M} UTC; the version was signed on {issued:%Y-%m-%d}"
    if now < issued:
        return Finding("clock", False, message, "The clock is behind: set it, or expiry cannot be told.")
    return Finding("clock", True, message)


def _open_bundle(options: argparse.Namespace, encoder: OnnxEncoder | str) -> Memory:
    return Memory.open(options.bundle, trust=options.trust, encoder=encoder, audience=options.audience)


def _open_store(options: argparse.Namespace, encoder: OnnxEncoder | str) -> Memory:
    # Opening it would make one.
    if not (Path(options.store) / STATE_FILE).exists():
        raise ConfigurationError(f"There is no store at {options.store}.", hint="Apply a bundle to make one.")
    return DeviceStore.open(options.store, trust=options.trust, audience=options.audience, encoder=encoder).memory()
