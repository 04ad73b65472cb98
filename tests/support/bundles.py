"""Small bundles with fixed keys and the encoder without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, Root

from prefdex_builder.signing.bundles import BundleSigner
from prefdex_builder.signing.keys import new_root
from prefdex_builder.stages import pack
from prefdex_shared import container
from prefdex_shared.container import Container
from prefdex_shared.encoder import HashingEncoder
from prefdex_shared.manifest import Manifest
from prefdex_shared.records import Entry, Preference
from prefdex_shared.steering import Scoring
from prefdex_shared.trust import canonical_bytes

ENCODER = HashingEncoder()
AUDIENCE = "u-1"
FAR = datetime(2100, 1, 1, tzinfo=timezone.utc)
PAST = datetime(2020, 1, 1, tzinfo=timezone.utc)

Content = Mapping[str, Sequence[Entry]]


def fixed_signer(number: int) -> CryptoSigner:
    """Return an Ed25519 signer whose key is always the same."""
    return CryptoSigner(Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)))


class Publisher:
    """A publisher with fixed keys, which can rotate them."""

    def __init__(self, first: int = 1, expires: datetime = FAR, targets: CryptoSigner | None = None) -> None:
        self.signers = {name: fixed_signer(first + at) for at, name in enumerate(("root", "targets", "online"))}
        if targets is not None:
            self.signers["targets"] = targets
        self.roots = [new_root(self.signers, expires=expires)]

    @property
    def trust(self) -> bytes:
        """The root that devices are given."""
        return self.roots[0]

    def rotate(
        self, targets: int, *, signed_by: Sequence[CryptoSigner] | None = None, root: int | None = None
    ) -> bytes:
        """Replace the targets key, and the root key where one is given."""
        metadata: Metadata[Root] = Metadata.from_bytes(self.roots[-1])
        metadata.signatures.clear()
        metadata.signed.version += 1
        metadata.signed.revoke_key(self.signers["targets"].public_key.keyid, "targets")
        old_root = self.signers["root"]
        self.signers["targets"] = fixed_signer(targets)
        metadata.signed.add_key(self.signers["targets"].public_key, "targets")
        if root is not None:
            metadata.signed.revoke_key(old_root.public_key.keyid, "root")
            self.signers["root"] = fixed_signer(root)
            metadata.signed.add_key(self.signers["root"].public_key, "root")
        for signer in signed_by if signed_by is not None else dict.fromkeys([old_root, self.signers["root"]]):
            metadata.sign(signer, append=True)
        self.roots.append(canonical_bytes(metadata))
        return self.roots[-1]

    def bundle(
        self, content: Content, *, version: int = 1, audience: str = AUDIENCE, expires: datetime = FAR, scoring=None
    ) -> bytes:
        """Return a whole bundle: preferences with their entries."""
        shards = [pack(Preference(text), entries, ENCODER) for text, entries in content.items()]
        manifest = Manifest(audience, ENCODER.id, "fake", scoring or Scoring(gate=-1.0), len(shards))
        return self.signer().sign_until(manifest, shards, version=version, expires=expires)

    def signer(self) -> BundleSigner:
        """Return the signer of bundles."""
        signer = BundleSigner.__new__(BundleSigner)
        signer.root = self.roots[0]
        signer._newer_roots = tuple(self.roots[1:])
        signer._signer = self.signers["targets"]
        return signer


def entry(text: str, instruction: str | None = None, *, confidence: float = 0.5, similarity: float = 0.4) -> Entry:
    """Return an entry; its instruction follows from the text unless it is given."""
    return Entry(text, f"Title of {text[:20]}", "source", instruction or f"Note on {text}", confidence, similarity)


CONTENT: Content = {
    "I like trains": [entry("Trains run on rails."), entry("Stations have platforms."), entry("Both like tea.")],
    "I like tea": [entry("Tea grows on hills."), entry("Both like tea.", "Tea is liked by both")],
    "I like nothing that exists": [],
}


def parts(data: bytes) -> Container:
    """Decode a container."""
    return container.decode(data)


def soon(days: int = 1) -> datetime:
    """Return a time in the future."""
    return datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=days)
