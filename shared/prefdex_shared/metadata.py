"""TUF metadata: read within caps, in one form only, and signed by the keys that may sign them.

Stricter than TUF in two ways, so that no byte can be changed unnoticed: metadata must equal their own canonical
encoding, and every signature must be by a key of the role and must verify, not just enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from securesystemslib.exceptions import UnverifiedSignatureError
from tuf.api.exceptions import UnsignedMetadataError
from tuf.api.metadata import Metadata, Root, Targets
from tuf.api.serialization import DeserializationError, SerializationError
from tuf.api.serialization.json import JSONSerializer

from .container import MAX_METADATA_BYTES
from .errors import FormatError, NotSignedError, TooLargeError

MAX_SIGNATURES = 16

_SERIALIZER = JSONSerializer(compact=True)
_ROOT, _TARGETS = "root", "targets"

T = TypeVar("T", Root, Targets)


def canonical_bytes(metadata: Metadata[Root] | Metadata[Targets]) -> bytes:
    """Return the one encoding of metadata that is accepted: JSON without blanks, keys sorted."""
    return metadata.to_bytes(_SERIALIZER)


def read_anchor(data: bytes) -> Metadata[Root]:
    """Read a trust anchor and check that it is signed by its own keys. Its layout is free, since the device chose it.

    Raises:
        NotSignedError: It is not.
        FormatError: It is no root metadata.
    """
    root: Metadata[Root] = _parsed(data, Root, _ROOT)
    # After a rotation it carries the signatures of keys before it, too.
    check_threshold(root, root.signed, _ROOT)
    return root


def read_root(data: bytes) -> Metadata[Root]:
    """Read root metadata in canonical form; their signatures are not looked at.

    Raises:
        FormatError: They are not.
    """
    return _canonical(data, Root, _ROOT)


def read_targets(data: bytes) -> Metadata[Targets]:
    """Read targets metadata in canonical form; their signatures are not looked at.

    Raises:
        FormatError: They are not, or delegate to others.
    """
    metadata: Metadata[Targets] = _canonical(data, Targets, _TARGETS)
    if metadata.signed.delegations is not None:
        raise FormatError("targets: delegations are not used in a bundle.")
    return metadata


def check_signatures(metadata: Metadata[T], delegators: Sequence[Root], where: str) -> None:
    """Check that each delegator's threshold is met, and that there is no signature beside those that verify.

    Raises:
        NotSignedError: Otherwise.
    """
    for delegator in delegators:
        check_threshold(metadata, delegator, where)
    role = metadata.signed.type
    key_ids = {key_id for each in delegators for key_id in each.get_delegated_role(role).keyids}
    keys = {key_id: each.keys[key_id] for each in delegators for key_id in key_ids & set(each.keys)}
    for key_id, signature in metadata.signatures.items():
        if key_id not in keys:
            raise NotSignedError(f"{where}: signed by a key that has no such role.")
        try:
            keys[key_id].verify_signature(signature, metadata.signed_bytes)
        except UnverifiedSignatureError:
            raise NotSignedError(f"{where}: a signature does not verify.") from None


def check_threshold(metadata: Metadata[T], delegator: Root, where: str) -> None:
    """Check that enough of a delegator's keys have signed.

    Raises:
        NotSignedError: Otherwise.
    """
    try:
        delegator.verify_delegate(metadata.signed.type, metadata.signed_bytes, metadata.signatures)
    except (UnsignedMetadataError, ValueError) as error:
        raise NotSignedError(f"{where}: not signed by enough keys that the device trusts.") from error


def _parsed(data: bytes, kind: type[T], where: str) -> Metadata[T]:
    if len(data) > MAX_METADATA_BYTES:
        raise TooLargeError(f"{where}: {len(data)} bytes are more than the {MAX_METADATA_BYTES} allowed.")
    try:
        metadata: Metadata[T] = Metadata.from_bytes(data)
        # What is signed has a form of its own, which has no fractions and no halves of characters.
        _ = metadata.signed_bytes
    except (DeserializationError, SerializationError, RecursionError):
        raise FormatError(f"{where}: not well-formed TUF metadata.") from None
    if not isinstance(metadata.signed, kind):
        raise FormatError(f"{where}: metadata of another role.")
    if len(metadata.signatures) > MAX_SIGNATURES:
        raise TooLargeError(f"{where}: more than {MAX_SIGNATURES} signatures.")
    return metadata


def _canonical(data: bytes, kind: type[T], where: str) -> Metadata[T]:
    metadata = _parsed(data, kind, where)
    try:
        same = canonical_bytes(metadata) == data
    except SerializationError:
        same = False
    # Hexadecimal digits verify in either case, so their case must be fixed too.
    if not same or any(each.signature != each.signature.lower() for each in metadata.signatures.values()):
        raise FormatError(f"{where}: metadata not in canonical form.")
    return metadata
