"""Small bundles with fixed keys and the encoder without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, Root, TargetFile, Targets

from prefdex_builder.signing.bundles import BundleSigner
from prefdex_builder.signing.keys import new_root
from prefdex_shared import container
from prefdex_shared.container import Container
from prefdex_shared.encoder import HashingEncoder
from prefdex_shared.manifest import Manifest
from prefdex_shared.metadata import canonical_bytes
from prefdex_shared.packing import pack
from prefdex_shared.records import Entry, Preference
from prefdex_shared.steering import Scoring
from prefdex_shared.trust import CUSTOM_FIELD, KIND, TIME_FORMAT

ENCODER = HashingEncoder()
AUDIENCE = "u-1"
FAR = datetime(2100, 1, 1, tzinfo=timezone.utc)
ISSUED = datetime(2026, 1, 1, tzinfo=timezone.utc)
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
        old = dict(self.signers)
        self.signers["targets"] = fixed_signer(targets)
        if root is not None:
            self.signers["root"] = fixed_signer(root)

        def change(signed: Root) -> None:
            for role in ("targets", "root") if root is not None else ("targets",):
                signed.revoke_key(old[role].public_key.keyid, role)
                signed.add_key(self.signers[role].public_key, role)

        return self.edit_root(change, signed_by=signed_by or list(dict.fromkeys([old["root"], self.signers["root"]])))

    def edit_root(self, change: Callable[[Root], None], *, signed_by: Sequence[CryptoSigner] | None = None) -> bytes:
        """Make the next root metadata."""
        metadata: Metadata[Root] = Metadata.from_bytes(self.roots[-1])
        metadata.signatures.clear()
        metadata.signed.version += 1
        change(metadata.signed)
        for signer in signed_by or [self.signers["root"]]:
            metadata.sign(signer, append=True)
        self.roots.append(canonical_bytes(metadata))
        return self.roots[-1]

    def sign_files(
        self,
        files: Mapping[str, bytes],
        *,
        version: int = 1,
        signed_by: Sequence[CryptoSigner] | None = None,
        **changes: object,
    ) -> bytes:
        """Return a container of any files, correctly signed; `changes` are to the signed fields."""
        targets = {name: TargetFile.from_data(name, data, ["sha256"]) for name, data in files.items()}
        custom = {CUSTOM_FIELD: {"audience": AUDIENCE, "issued": f"{ISSUED:{TIME_FORMAT}}", "kind": KIND}}
        signed = Targets(version=version, expires=FAR, targets=targets, unrecognized_fields=custom)
        for name, value in changes.items():
            setattr(signed, name, value)
        metadata = Metadata(signed)
        for signer in signed_by or [self.signers["targets"]]:
            metadata.sign(signer, append=True)
        return container.encode(Container(tuple(self.roots[1:]), canonical_bytes(metadata), files))

    def bundle(
        self, content: Content, *, version: int = 1, audience: str = AUDIENCE, expires: datetime = FAR, scoring=None
    ) -> bytes:
        """Return a whole bundle: preferences with their entries."""
        shards = [pack(Preference(text), entries, ENCODER) for text, entries in content.items()]
        manifest = Manifest(audience, ENCODER.id, "fake", scoring or Scoring(gate=-1.0), len(shards))
        return self.signer().sign_at(manifest, shards, version=version, times=(ISSUED, expires))

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
