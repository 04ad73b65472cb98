"""What a bundle holds, for a person who looks into it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from . import container
from .bundle import read_shards
from .records import Entry
from .trust import verify_whole

N_EXAMPLES = 3

_TITLE_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class ShardDescription:
    """A shard of a bundle.

    Attributes:
        preference: Its text.
        n_entries: Its entries.
        n_bytes: Its size.
        examples: Titles, or where there is none the beginnings, of its best chunks, best first: up to three.
    """

    preference: str
    n_entries: int
    n_bytes: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BundleDescription:
    """A verified bundle.

    Attributes:
        audience: Opaque id of the user.
        version: Version of the bundle.
        issued: When it was signed (UTC).
        age_days: Whole days since then, by the clock of this machine.
        expires: When its signed metadata expire (UTC).
        stale: Whether they have.
        signed_by: Ids of the keys that signed it.
        root_version: Version of the root metadata that name these keys.
        encoder_id: Encoder of its vectors.
        llm: Name of the engine that judged and wrote.
        bundle_bytes: Its size.
        n_entries: Entries of all its shards.
        shards: Its shards, in the user's order.
    """

    audience: str
    version: int
    issued: datetime
    age_days: int
    expires: datetime
    stale: bool
    signed_by: tuple[str, ...]
    root_version: int
    encoder_id: str
    llm: str
    bundle_bytes: int
    n_entries: int
    shards: tuple[ShardDescription, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Return what concerns the whole bundle as names and values to print."""
        age = "today" if self.age_days == 0 else f"{self.age_days} days ago"
        return [
            ("audience", self.audience),
            ("version", f"{self.version}, issued {self.issued:%Y-%m-%d} ({age})"),
            ("expires", f"{self.expires:%Y-%m-%d}" + (" (stale)" if self.stale else "")),
            ("signed by", f"{', '.join(self.signed_by)} (root {self.root_version})"),
            ("encoder", self.encoder_id),
            ("llm", self.llm),
            ("size", f"{self.bundle_bytes:,} bytes, {len(self.shards):,} preferences, {self.n_entries:,} entries"),
        ]

    def verdict_fields(self) -> dict[str, object]:
        """Return what `verdict` says, for a machine."""
        return {name: getattr(self, name) for name in ("audience", "version", "issued", "expires", "stale")}

    def verdict(self) -> str:
        """Return one line that says what was verified."""
        stale = f", stale since {self.expires:%Y-%m-%d}" if self.stale else f", valid until {self.expires:%Y-%m-%d}"
        return f"verified: version {self.version} for {self.audience}{stale}"


def describe(data: bytes, *, trust: bytes, audience: str) -> BundleDescription:
    """Verify a bundle whole, every shard decoded, and describe it; no encoder is needed.

    Args:
        data: Bytes of a `.pdx`.
        trust: The trust anchor: bytes of a `root.json`.
        audience: Opaque id of the user.

    Raises:
        TrustError: It is not to be believed.
        FormatError: It is damaged.
        PatchMismatchError: It is a patch.
    """
    verified, manifest = verify_whole(container.decode(data), trust=trust, audience=audience)
    descriptions = [
        ShardDescription(
            preference=shard.preference.text,
            n_entries=len(shard.entries),
            n_bytes=verified.lengths[name],
            examples=tuple(_example(entry) for entry in shard.entries[:N_EXAMPLES]),
        )
        for name, shard in read_shards(verified, manifest).items()
    ]
    return BundleDescription(
        audience=audience,
        version=verified.version,
        issued=verified.issued,
        age_days=(datetime.now(timezone.utc) - verified.issued).days,
        expires=verified.expires,
        stale=verified.is_expired(),
        signed_by=verified.key_ids,
        root_version=verified.root_version,
        encoder_id=manifest.encoder_id,
        llm=manifest.llm,
        bundle_bytes=len(data),
        n_entries=sum(each.n_entries for each in descriptions),
        shards=tuple(descriptions),
    )


def _example(entry: Entry) -> str:
    return entry.title or entry.text[:_TITLE_CHARACTERS]
