"""What is believed and what is not."""

import re

import pytest
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, TargetFile, Targets

from prefdex_shared import container, manifest, trust
from prefdex_shared.container import Container
from prefdex_shared.errors import (
    ConfigurationError,
    FormatError,
    NewerFormatError,
    NotSignedError,
    PrefdexError,
    RollbackError,
    TrustError,
    WrongAudienceError,
)
from prefdex_shared.trust import canonical_bytes, verify, verify_whole
from support.bundles import AUDIENCE, CONTENT, PAST, Publisher, entry, fixed_signer, parts

SMALL = {"I like tea": [entry("Tea grows on hills.")]}


def _verify(data: bytes, publisher: Publisher, **changes) -> trust.Verified:
    return verify(container.decode(data), **({"trust": publisher.trust, "audience": AUDIENCE} | changes))


def _resigned(data: bytes, signer: CryptoSigner, **fields: object) -> Container:
    """Change signed fields of the targets and sign them again."""
    held = parts(data)
    metadata: Metadata[Targets] = Metadata.from_bytes(held.targets)
    for name, value in fields.items():
        setattr(metadata.signed, name, value)
    metadata.sign(signer)
    return Container(held.roots, canonical_bytes(metadata), held.files)


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


def test_every_truncation_is_refused(publisher: Publisher) -> None:
    data = publisher.bundle(CONTENT)
    for length in range(0, len(data), 101):
        with pytest.raises(FormatError, match="^container"):
            _verify(data[:length], publisher)


def test_another_users_bundle(publisher: Publisher) -> None:
    data = publisher.bundle(CONTENT, audience="u-2")
    with pytest.raises(WrongAudienceError) as caught:
        _verify(data, publisher)
    assert "u-2" not in str(caught.value)


def test_a_shard_of_another_users_bundle(publisher: Publisher) -> None:
    own, other = parts(publisher.bundle(CONTENT)), parts(publisher.bundle(SMALL, audience="u-2"))
    swapped = Container(own.roots, own.targets, {**own.files, "s0": other.files["s0"]})
    with pytest.raises(NotSignedError, match="File 's0'"):
        verify(swapped, trust=publisher.trust, audience=AUDIENCE)


def test_files_of_one_version_with_metadata_of_another(publisher: Publisher) -> None:
    old, new = parts(publisher.bundle(CONTENT)), parts(publisher.bundle(SMALL, version=2))
    with pytest.raises(TrustError):
        verify(Container((), new.targets, old.files), trust=publisher.trust, audience=AUDIENCE)


def test_swapped_files(publisher: Publisher) -> None:
    held = parts(publisher.bundle(CONTENT))
    files = {**held.files, "s0": held.files["s1"], "s1": held.files["s0"]}
    with pytest.raises(NotSignedError, match="File 's0' differs"):
        verify(Container((), held.targets, files), trust=publisher.trust, audience=AUDIENCE)


def test_a_file_that_nobody_signed(publisher: Publisher) -> None:
    held = parts(publisher.bundle(CONTENT))
    with pytest.raises(NotSignedError, match="File 's7' is not named"):
        verify(Container((), held.targets, {**held.files, "s7": b"x"}), trust=publisher.trust, audience=AUDIENCE)


def test_an_older_version(publisher: Publisher) -> None:
    with pytest.raises(RollbackError, match="version 3, below the 4"):
        _verify(publisher.bundle(CONTENT, version=3), publisher, min_version=4)


def test_an_unknown_publisher(publisher: Publisher) -> None:
    with pytest.raises(NotSignedError, match="targets: not signed by enough keys"):
        _verify(publisher.bundle(CONTENT), Publisher(first=40))


@pytest.mark.parametrize("signer", ["root", "online"])
def test_a_key_of_another_role(publisher: Publisher, signer: str) -> None:
    held = _resigned(publisher.bundle(CONTENT), publisher.signers[signer])
    with pytest.raises(NotSignedError):
        verify(held, trust=publisher.trust, audience=AUDIENCE)


def test_a_second_signature_by_a_stranger(publisher: Publisher) -> None:
    metadata: Metadata[Targets] = Metadata.from_bytes(parts(publisher.bundle(CONTENT)).targets)
    metadata.sign(fixed_signer(99), append=True)
    held = Container((), canonical_bytes(metadata), parts(publisher.bundle(CONTENT)).files)
    with pytest.raises(NotSignedError, match="no such role"):
        verify(held, trust=publisher.trust, audience=AUDIENCE)


def test_very_many_signatures(publisher: Publisher) -> None:
    metadata: Metadata[Targets] = Metadata.from_bytes(parts(publisher.bundle(CONTENT)).targets)
    for number in range(100, 130):
        metadata.sign(fixed_signer(number), append=True)
    with pytest.raises(FormatError, match="more than 16 signatures"):
        verify(Container((), canonical_bytes(metadata), {}), trust=publisher.trust, audience=AUDIENCE)


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


def test_a_root_signed_by_its_new_key_only(publisher: Publisher) -> None:
    publisher.rotate(targets=20, root=21, signed_by=[fixed_signer(21)])
    with pytest.raises(NotSignedError, match="root 2"):
        _verify(publisher.bundle(CONTENT), publisher)


def test_a_root_signed_by_its_old_key_only(publisher: Publisher) -> None:
    publisher.rotate(targets=20, root=21, signed_by=[fixed_signer(1)])
    with pytest.raises(NotSignedError, match="root 2"):
        _verify(publisher.bundle(CONTENT), publisher)


def test_a_root_that_skips_a_version(publisher: Publisher) -> None:
    publisher.rotate(targets=20)
    publisher.rotate(targets=21)
    del publisher.roots[1]
    with pytest.raises(NotSignedError, match="version 3 does not follow version 1"):
        _verify(publisher.bundle(CONTENT), publisher)


def test_another_root_of_the_same_version(publisher: Publisher) -> None:
    other = Publisher()
    publisher.rotate(targets=20)
    other.rotate(targets=21)
    with pytest.raises(NotSignedError, match="another root of version 2"):
        _verify(publisher.bundle(CONTENT), publisher, trust=other.roots[1])


def test_expired_metadata_are_told(publisher: Publisher) -> None:
    assert _verify(publisher.bundle(CONTENT, expires=PAST), publisher).is_expired()
    old = Publisher(expires=PAST)
    assert _verify(old.bundle(CONTENT), old).is_expired()


def test_non_canonical_metadata(publisher: Publisher) -> None:
    held = parts(publisher.bundle(CONTENT))
    for changed in (
        held.targets.replace(b'{"signatures"', b'{ "signatures"'),
        held.targets + b"\n",
        re.sub(rb'"sig":"([0-9a-f]+)"', lambda match: b'"sig":"' + match[1].upper() + b'"', held.targets),
        held.targets[:-1] + b',"signatures":[]}',
    ):
        assert changed != held.targets
        with pytest.raises(FormatError, match=r"targets: (metadata not in canonical form|not well-formed)"):
            verify(Container((), changed, held.files), trust=publisher.trust, audience=AUDIENCE)


@pytest.mark.parametrize("name", ["../s0", "/s0", "s0/../s1", "s00", "link", "", "s0\n", "manifest.json"])
def test_a_name_that_is_none_of_ours(publisher: Publisher, name: str) -> None:
    held = parts(publisher.bundle(CONTENT))
    with pytest.raises(FormatError, match="is not the name of a file"):
        container.decode(container.encode(Container((), held.targets, {**held.files, name: b"x"})))
    signed = {**Metadata.from_bytes(held.targets).signed.targets, name: TargetFile.from_data(name, b"x", ["sha256"])}
    evil = _resigned(publisher.bundle(CONTENT), publisher.signers["targets"], targets=signed)
    with pytest.raises(PrefdexError):
        verify_whole(evil, trust=publisher.trust, audience=AUDIENCE)


def test_targets_of_another_kind(publisher: Publisher) -> None:
    evil = _resigned(
        publisher.bundle(CONTENT),
        publisher.signers["targets"],
        unrecognized_fields={trust.CUSTOM_FIELD: {"audience": AUDIENCE, "kind": "encoder"}},
    )
    with pytest.raises(WrongAudienceError, match="not those of a bundle"):
        verify(evil, trust=publisher.trust, audience=AUDIENCE)


def test_targets_without_sha256(publisher: Publisher) -> None:
    held = parts(publisher.bundle(SMALL))
    weak = {name: TargetFile.from_data(name, data, ["sha1"]) for name, data in held.files.items()}
    evil = _resigned(publisher.bundle(SMALL), publisher.signers["targets"], targets=weak)
    with pytest.raises(FormatError, match="has no SHA-256"):
        verify(evil, trust=publisher.trust, audience=AUDIENCE)


def test_a_manifest_for_somebody_else_or_with_other_shards(publisher: Publisher) -> None:
    held = parts(publisher.bundle(SMALL))
    described = manifest.decode(held.files["manifest"])
    for changes, error in (({"audience": "u-2"}, WrongAudienceError), ({"n_shards": 2}, FormatError)):
        data = manifest.encode(
            manifest.Manifest(**({name: getattr(described, name) for name in described.__slots__} | changes))
        )
        files = {**held.files, "manifest": data}
        targets = {name: TargetFile.from_data(name, content, ["sha256"]) for name, content in files.items()}
        signed = _resigned(publisher.bundle(SMALL), publisher.signers["targets"], targets=targets)
        with pytest.raises(error):
            verify(Container((), signed.targets, files), trust=publisher.trust, audience=AUDIENCE)


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


def test_a_container_of_a_newer_format() -> None:
    from prefdex_shared import wire

    with pytest.raises(NewerFormatError, match="format 2"):
        container.decode(wire.pack({"format": 2}))
