"""What apply, forget, add and previous make of a store: the next state, and the files that it needs.

Nothing here touches the disk, so whatever is wrong is found before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prefdex_shared import trust
from prefdex_shared.bundle import read_shards
from prefdex_shared.container import Container
from prefdex_shared.errors import ConfigurationError, ExpiredError, FormatError, PatchMismatchError, RollbackError
from prefdex_shared.ids import sha256_hex
from prefdex_shared.manifest import MAX_SHARDS
from prefdex_shared.metadata import read_root
from prefdex_shared.records import Preference
from prefdex_shared.shard import MAX_PREFERENCE_CHARACTERS
from prefdex_shared.trust import MANIFEST_FILE, Verified

from .state import State

N_VERSIONS = 2
"""So many versions are kept: the current one, and the one to go back to."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A next state.

    Attributes:
        state: The state.
        files: Content to be written before it, by SHA-256.
        metadata: Metadata to be written before it, by SHA-256.
    """

    state: State
    files: Mapping[str, bytes] = field(default_factory=dict)
    metadata: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Device:
    """What a device has.

    Attributes:
        anchor: Its trust anchor.
        roots: Root metadata of the store.
        files: Content of the files of the current version, verified.
        hashes: SHA-256 of the files of every version that is kept, those of missing ones included.
    """

    anchor: bytes
    roots: tuple[bytes, ...] = ()
    files: tuple[bytes, ...] = ()
    hashes: tuple[str, ...] = ()


def apply(state: State, device: Device, given: Container, *, allow_expired: bool) -> tuple[Plan, Verified]:
    """Take over a bundle or a patch (DESIGN, sections 3 and 4).

    Args:
        state: The store's state.
        device: What the device has.
        given: The bundle or the patch.
        allow_expired: Take it even if it has expired.

    Raises:
        TrustError: It is not to be believed, older than what was seen, or expired.
        PatchMismatchError: It is a patch that needs files that the store lacks.
        FormatError: It is damaged.
    """
    roots = (*device.roots, *given.roots)
    verified = _verify(state, device, Container(roots, given.targets, given.files))
    keys = tuple(sorted(read_root(verified.root).signed.roles["targets"].keyids))
    highest = state.highest if keys == state.keys else 0
    if verified.version < highest:
        raise RollbackError(f"This is version {verified.version}, and version {highest} was here already.")
    if verified.is_expired() and not allow_expired:
        raise ExpiredError(f"It expired on {verified.expires:%Y-%m-%d}.")
    by_hash = {sha256_hex(data): data for data in (*device.files, *given.files.values())}
    files = {name: by_hash[digest] for name, digest in verified.hashes.items() if digest in by_hash}
    _check_missing(verified, files, {file for file, tag in state.erased.items() if tag in state.forgotten}, state)
    whole = _verify(state, device, Container(roots, given.targets, files))
    if whole.manifest is None:
        raise FormatError("The version has no manifest.")
    offered = {state.tag(shard.preference.text): name for name, shard in read_shards(whole, whole.manifest).items()}
    # Forgotten here: their bytes are not taken in, however often they are offered.
    refused = {name: tag for tag, name in offered.items() if tag in state.forgotten}
    kept = {whole.hashes[name]: data for name, data in files.items() if name not in refused}
    missing = {state.erased[state.file_tag(whole.hashes[name])] for name in whole.missing}
    targets = sha256_hex(given.targets)
    after = replace(
        state,
        highest=max(highest, whole.version),
        keys=keys,
        roots=tuple(map(sha256_hex, whole.roots)),
        versions=(targets, *(each for each in state.versions if each != targets))[:N_VERSIONS],
        forgotten=_still_forgotten(state.forgotten, {*offered, *missing}),
        erased=_erased(state, whole, refused, kept, device.hashes),
        added=tuple(text for text in state.added if state.tag(text) not in offered),
        local={tag: digest for tag, digest in state.local.items() if tag in {*offered, *map(state.tag, state.added)}},
    )
    metadata = {sha256_hex(data): data for data in (*whole.roots, given.targets)}
    return Plan(after, kept, metadata), whole


def forget(state: State, preference: str, shards: Sequence[str]) -> Plan:
    """Forget a preference.

    Args:
        state: The store's state.
        preference: Its text.
        shards: SHA-256 of its shards in the versions that are kept.

    Raises:
        ConfigurationError: It is not there.
    """
    text = Preference(preference).text
    if not shards and text not in state.added:
        raise ConfigurationError(
            "There is no such preference on this device.", hint="`prefdex-client inspect` lists what there is."
        )
    tag = state.tag(text)
    erased = {**state.erased, **{state.file_tag(digest): tag for digest in shards}}
    return Plan(
        replace(
            state,
            forgotten={**state.forgotten, tag: bool(shards)},
            erased=erased,
            added=tuple(each for each in state.added if each != text),
            local={each: digest for each, digest in state.local.items() if each != tag},
        )
    )


def add(state: State, preference: str, present: Iterable[str]) -> Plan:
    """Add a preference, which steers until its shard arrives. One that was forgotten is asked for again.

    Args:
        state: The store's state.
        preference: Its text.
        present: The preferences of the current version.

    Raises:
        ConfigurationError: It is empty, too long, or one too many.
    """
    text = Preference(preference).text
    if not text or len(text) > MAX_PREFERENCE_CHARACTERS:
        raise ConfigurationError(f"A preference has 1 to {MAX_PREFERENCE_CHARACTERS} characters, not {len(text)}.")
    known = {*present, *state.added}
    if text not in known and len(known) >= MAX_SHARDS:
        raise ConfigurationError(f"There are {len(known)} preferences; there can be {MAX_SHARDS}.")
    tag = state.tag(text)
    forgotten = {each: offered for each, offered in state.forgotten.items() if each != tag}
    added = state.added if text in known else (*state.added, text)
    return Plan(replace(state, forgotten=forgotten, added=added))


def previous(state: State) -> Plan:
    """Go back to the version before; what was seen and what was forgotten stays so.

    Raises:
        ConfigurationError: There is none.
    """
    if len(state.versions) < N_VERSIONS:
        raise ConfigurationError("There is no earlier version on this device.")
    return Plan(replace(state, versions=state.versions[1:]))


def check_whole(verified: Verified, state: State) -> None:
    """Check that just what was forgotten is missing.

    Raises:
        FormatError: Something else is missing.
    """
    _check_missing(verified, verified.files, set(state.erased), state, FormatError)


def _verify(state: State, device: Device, held: Container) -> Verified:
    return trust.verify(held, trust=device.anchor, audience=state.audience)


def _check_missing(
    verified: Verified,
    files: Mapping[str, bytes],
    may_miss: set[str],
    state: State,
    error: type[PatchMismatchError | FormatError] = PatchMismatchError,
) -> None:
    lacking = [
        name
        for name, digest in verified.hashes.items()
        if name not in files and (name == MANIFEST_FILE or state.file_tag(digest) not in may_miss)
    ]
    if lacking:
        raise error(
            f"{len(lacking)} files of version {verified.version} are missing, {lacking[0][:40]!r} among them.",
            hint="Fetch the whole bundle, and apply it.",
        )


def _still_forgotten(forgotten: Mapping[str, bool], offered: set[str]) -> dict[str, bool]:
    """Return the tags without those that a version has offered and this one does not: the server dropped them."""
    return {tag: was or tag in offered for tag, was in forgotten.items() if tag in offered or not was}


def _erased(
    state: State, whole: Verified, refused: Mapping[str, str], kept: Mapping[str, bytes], older: Iterable[str]
) -> dict[str, str]:
    """Return the removed files of the versions that stay, without what came back because it was asked for again."""
    known = {**state.erased, **{state.file_tag(whole.hashes[name]): tag for name, tag in refused.items()}}
    named = {state.file_tag(digest) for digest in (*whole.hashes.values(), *older) if digest not in kept}
    return {file: tag for file, tag in known.items() if file in named}
