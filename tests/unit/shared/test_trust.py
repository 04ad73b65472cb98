"""What is believed and what is not."""

import re

import pytest

from prefdex_shared import container, trust
from prefdex_shared.container import Container
from prefdex_shared.errors import (
    ConfigurationError,
    FormatError,
    NotSignedError,
    TrustError,
)
from prefdex_shared.trust import verify, verify_whole
from support.bundles import AUDIENCE, CONTENT, PAST, Publisher, entry, parts

SMALL = {"I like tea": [entry("Tea grows on hills.")]}


def _verify(data: bytes, publisher: Publisher, **changes) -> trust.Verified:
    return verify(container.decode(data), **({"trust": publisher.trust, "audience": AUDIENCE} | changes))


def test_a_good_bundle(publisher: Publisher) -> None:
    verified, described = verify_whole(
        parts(publisher.bundle(CONTENT, version=7)), trust=publisher.trust, audience=AUDIENCE, min_version=7
    )
    assert (verified.version, verified.missing, described.n_shards) == (7, [], 3)
    assert verified.key_ids == (publisher.signers["targets"].public_key.keyid,)
    assert not verified.is_expired()


def test_every_flipped_bit_is_refused_and_named(publisher: Publisher) -> None:
    publisher.rotate(targets=20)
    data = publisher.bundle(SMALL)
    named = re.compile(r"container|root|targets|manifest|File 's[0-9]'")
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            with pytest.raises((FormatError, TrustError)) as caught:
                _verify(bytes(changed), publisher)
            assert named.search(str(caught.value)), str(caught.value)


def test_a_rotated_key(publisher: Publisher) -> None:
    before = publisher.bundle(CONTENT)
    publisher.rotate(targets=20)
    after = publisher.bundle(CONTENT, version=2)
    assert _verify(after, publisher).root_version == 2
    assert _verify(before, publisher).root_version == 1
    with pytest.raises(NotSignedError, match="targets"):
        # The old key's signature under the new root.
        held = parts(before)
        verify(
            Container(tuple(publisher.roots[1:]), held.targets, held.files), trust=publisher.trust, audience=AUDIENCE
        )


def test_a_rotated_root_key_and_a_device_in_the_middle(publisher: Publisher) -> None:
    publisher.rotate(targets=20, root=21)
    publisher.rotate(targets=22)
    data = publisher.bundle(CONTENT)
    for anchor in publisher.roots:
        assert _verify(data, publisher, trust=anchor).root_version == 3


def test_expired_metadata_are_told(publisher: Publisher) -> None:
    assert _verify(publisher.bundle(CONTENT, expires=PAST), publisher).is_expired()
    old = Publisher(expires=PAST)
    assert _verify(old.bundle(CONTENT), old).is_expired()


def test_a_patch_is_no_bundle(publisher: Publisher) -> None:
    held = parts(publisher.bundle(CONTENT))
    patch = Container((), held.targets, {"s1": held.files["s1"]})
    assert verify(patch, trust=publisher.trust, audience=AUDIENCE).missing == ["manifest", "s0", "s2"]
    with pytest.raises(ConfigurationError, match="This is a patch: 3 files of version 1"):
        verify_whole(patch, trust=publisher.trust, audience=AUDIENCE)


@pytest.mark.parametrize(
    "anchor", [b"", b"{}", b"[" * 100_000, b'{"signed":{"_type":"root"},"signatures":[]}', b"\xff"]
)
def test_a_broken_trust_anchor(publisher: Publisher, anchor: bytes) -> None:
    with pytest.raises(FormatError, match="^root"):
        _verify(publisher.bundle(SMALL), publisher, trust=anchor)
