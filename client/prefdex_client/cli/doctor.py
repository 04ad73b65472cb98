"""`prefdex-client doctor`: what is wrong with this device, and what to do about it."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from prefdex_shared.encoder import OnnxEncoder
from prefdex_shared.errors import ConfigurationError, PrefdexError

from ..memory import Memory
from .output import emit, say

MIN_GOLDEN_COSINE = 0.98
"""Below this the vectors of this machine no longer compare with those of the bundle."""

_LIBRARIES = ("numpy", "msgpack", "tuf", "securesystemslib", "cryptography", "onnxruntime", "tokenizers", "faiss-cpu")


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
    encoder = None
    if options.encoder:
        encoder, finding = _checked("encoder", lambda: _encoder(options.encoder))
        yield finding
    if options.bundle:
        yield _checked("bundle", lambda: _bundle(options, encoder))[1]


def _library(name: str) -> Finding:
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        return Finding(name, False, "not installed", "pip install 'prefdex[client]'")


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


def _bundle(options: argparse.Namespace, encoder: OnnxEncoder | None) -> tuple[None, Finding]:
    if not (options.trust and options.audience and options.encoder):
        raise ConfigurationError("Checking a bundle needs --trust, --audience and --encoder.")
    memory = Memory.open(
        options.bundle, trust=options.trust, encoder=encoder or options.encoder, audience=options.audience
    )
    stats = memory.stats()
    message = f"version {stats.version}, {stats.n_entries} entries, valid until {stats.expires:%Y-%m-%d}"
    if stats.stale:
        return None, Finding("bundle", False, message, "It is past its expiry: fetch a newer one, or check the clock.")
    return None, Finding("bundle", True, message)
