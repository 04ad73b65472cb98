"""Making the patch between two bundle files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prefdex_shared import container, files, patching
from prefdex_shared.container import MAX_CONTAINER_BYTES, MAX_METADATA_BYTES, Container
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.trust import read_claims, verify_whole


@dataclass(frozen=True, slots=True)
class PatchReport:
    """A patch that was written.

    Attributes:
        path: Where it stands.
        audience: Opaque id of the user.
        from_version: Version of the old bundle.
        to_version: Version of the new bundle.
        patch_bytes: Size of the patch.
        bundle_bytes: Size of the new bundle.
        files: Names of the files that travel.
        roots: Number of root metadata that travel.
    """

    path: str
    audience: str
    from_version: int
    to_version: int
    patch_bytes: int
    bundle_bytes: int
    files: tuple[str, ...]
    roots: int


def make_patch(
    old: Path, new: Path, output: Path | None = None, *, folder: Path = Path(), trust: Path | None = None
) -> PatchReport:
    """Write what a device that has `old` needs to have `new`.

    Args:
        old: A whole bundle.
        new: A whole bundle of the same user, of a higher version.
        output: Where to write; None names it after user and versions.
        folder: Where it is put then.
        trust: A `root.json` to verify both with; None leaves signatures to the receiver.

    Raises:
        ConfigurationError: A file cannot be read or written, or they are not two versions of one user's bundle.
        TrustError: One of them is damaged or, with `trust`, not signed.
        FormatError: One of them is no bundle.
    """
    before, after = _read(old, trust), _read(new, trust)
    patch = patching.make(before, after)
    start, end = read_claims(before), read_claims(after)
    path = output or folder / f"{end.audience}-{start.version}-to-{end.version}.pdx"
    if path.exists() and any(path.samefile(each) for each in (old, new)):
        raise ConfigurationError(f"{path} is one of the two bundles.", hint="Choose another output.")
    data = container.encode(patch)
    files.replace(path, data)
    return PatchReport(
        path=str(path),
        audience=end.audience,
        from_version=start.version,
        to_version=end.version,
        patch_bytes=len(data),
        bundle_bytes=new.stat().st_size,
        files=tuple(patch.files),
        roots=len(patch.roots),
    )


def _read(path: Path, trust: Path | None) -> Container:
    held = container.decode(files.read(path, "bundle", MAX_CONTAINER_BYTES))
    if trust is not None:
        root = files.read(trust, "trust anchor", MAX_METADATA_BYTES)
        verify_whole(held, trust=root, audience=read_claims(held).audience)
    return held
