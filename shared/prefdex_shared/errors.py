"""All errors that prefdex raises on purpose.

    PrefdexError
    ├── ConfigurationError          what was asked for cannot be done as it was asked
    │   ├── MissingExtraError       a package is not installed; the hint names the extra
    │   ├── EncoderMismatchError    another encoder than the one the bundle was built with
    │   └── PatchMismatchError      a patch that does not fit: the whole bundle is needed
    ├── CorpusError                 the corpus cannot be read at all (a single bad line is counted, not raised)
    ├── FormatError                 bytes that are not of the format that they should have
    │   ├── NewerFormatError        written for a newer prefdex
    │   └── TooLargeError           over a cap on size, number, depth or unpacked size
    ├── TrustError                  well-formed, and not to be believed
    │   ├── NotSignedError          not signed by the keys that may sign it
    │   ├── HashMismatchError       a file is not the one that was signed
    │   ├── WrongAudienceError      signed, for somebody else
    │   ├── RollbackError           signed, and older than what was asked for
    │   └── ExpiredError            signed, and past its expiry
    ├── EngineError                 an LLM or an encoder failed; says whether trying again can help
    └── BuildError                  the build ended without a result; what it finished is kept

A message says what was wrong and where; the hint says what to do. Neither quotes a preference or a text.
"""

from __future__ import annotations

from typing import ClassVar


class PrefdexError(Exception):
    """The base of all errors raised on purpose.

    Attributes:
        hint: What to do about it; empty when the message says it all.
    """

    usual_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint or self.usual_hint

    def __reduce__(self) -> tuple[object, ...]:
        """Cross process boundaries whole, whatever the constructor of a subclass takes."""
        return (_rebuild, (type(self), str(self), self.__dict__.copy()))


class ConfigurationError(PrefdexError):
    """What was asked for cannot be done as it was asked."""


class MissingExtraError(ConfigurationError):
    """A package that this needs is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"The package {package!r} is not installed.", hint=f"Install it with: pip install 'prefdex[{extra}]'"
        )


class EncoderMismatchError(ConfigurationError):
    """The encoder is not the one that the bundle was built with, so their vectors do not compare."""


class PatchMismatchError(ConfigurationError):
    """A patch does not fit the bundle that it is applied to, or is no whole bundle: fetch the whole one."""

    usual_hint = "Fetch the whole bundle."


class CorpusError(PrefdexError):
    """The corpus cannot be read at all."""


class FormatError(PrefdexError):
    """Bytes that are not of the format that they should have."""

    usual_hint = "It is damaged, or something else: fetch it again."


class NewerFormatError(FormatError):
    """Written in a format that this version of prefdex does not know yet."""

    usual_hint = "Upgrade prefdex."


class TooLargeError(FormatError):
    """Over one of the format's caps: on size, number of items, depth, or size once decompressed."""


class TrustError(PrefdexError):
    """Well-formed, and not to be believed."""


class NotSignedError(TrustError):
    """Not signed by the keys that may sign it."""

    usual_hint = "Check that it comes from the publisher of this root.json."


class HashMismatchError(TrustError):
    """A file is not the one that was signed: damaged, exchanged, or from another version."""

    usual_hint = "It was damaged or tampered with: fetch it again."


class WrongAudienceError(TrustError):
    """Correctly signed, for somebody else."""

    usual_hint = "Check the audience."


class RollbackError(TrustError):
    """Correctly signed, and older than what was asked for."""

    usual_hint = "Fetch the newest bundle."


class ExpiredError(TrustError):
    """Correctly signed, and past its expiry."""

    usual_hint = "Fetch a newer one, or check the device's clock."


class EngineError(PrefdexError):
    """An LLM or an encoder failed.

    Attributes:
        retryable: Whether the same request may succeed later.
    """

    def __init__(self, message: str, *, retryable: bool, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retryable = retryable


class BuildError(PrefdexError):
    """The build ended without a result. What it finished is kept, and the next one goes on from there."""


def _rebuild(kind: type[PrefdexError], message: str, state: dict[str, object]) -> PrefdexError:
    error = kind.__new__(kind, message)
    error.args = (message,)
    error.__dict__.update(state)
    return error
