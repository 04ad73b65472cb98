"""Laws 4 and 5 of the design on the device: what is forgotten is gone, and no cut of the power breaks the store."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prefdex_client import UNSTEERED, DeviceStore, LocalConfig, Memory
from prefdex_client.store.disk import Disk
from prefdex_shared import container, manifest, patching, shard, wire
from prefdex_shared.errors import ConfigurationError, FormatError, PatchMismatchError
from prefdex_shared.ids import preference_id
from support.bundles import AUDIENCE, ENCODER, Publisher, entry, parts
from support.disks import CuttingDisk, PowerCutError

few = settings(max_examples=settings.default.max_examples // 4)

NAMES = tuple(f"I like topic {number}" for number in range(6))
CHUNKS = tuple(f"Chunk {number} tells of topic {number % 6}." for number in range(9))
CONTENTS = st.lists(st.sampled_from(NAMES), unique=True).flatmap(
    lambda names: st.fixed_dictionaries(
        {name: st.lists(st.sampled_from(CHUNKS), unique=True).map(_entries(name)) for name in names}
    )
)


def _entries(name: str) -> Callable[[list[str]], list]:
    return lambda texts: [entry(text, f"{name}: {text}") for text in texts]


STEPS = st.one_of(
    st.tuples(st.sampled_from(("bundle", "patch")), CONTENTS),
    st.tuples(st.just("forget"), st.sampled_from(NAMES)),
    st.tuples(st.just("add"), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(("previous", "again")), st.none()),
)


def _store(folder: Path, publisher: Publisher, disk: Disk | None = None) -> DeviceStore:
    return DeviceStore.open(folder, trust=publisher.trust, audience=AUDIENCE, encoder=ENCODER, disk=disk)


def _decoded(folder: Path) -> str:
    """Return all that stands in the store's files, decoded: a search through compressed bytes would prove nothing."""
    texts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        for decode in (shard.decode, lambda each, _: manifest.decode(each)):
            try:
                texts.append(repr(decode(data, path.name)))
                break
            except FormatError:
                continue
        else:
            texts.append(repr(data) if path.parent.name == "files" or not data else _plain(data))
    return "\n".join(texts)


def _plain(data: bytes) -> str:
    try:
        return repr(wire.unpack(data, "file", 1 << 20, 10_000))
    except FormatError:
        return data.decode("utf-8")


def _same(one: list | None, two: list) -> bool:
    """Whether two shards are the same: a shard has its own order."""
    return one is not None and {each.text for each in one} == {each.text for each in two}


class Model:
    """What a store should hold, said as simply as can be.

    Attributes:
        versions: The versions that are kept, the current one first: what was offered, and the names that are there.
        forgotten: Names, and whether a version has offered them.
        pending: Names that were added.
    """

    def __init__(self, content: dict) -> None:
        self.versions = [(content, set(content))]
        self.forgotten: dict[str, bool] = {}
        self.pending: set[str] = set()

    def apply(self, content: dict) -> None:
        there = set(content) - set(self.forgotten)
        # The same shard again brings it back to the older version, too.
        # Applied again, a version takes its own place, not that of the one before.
        before = [each for each in self.versions if each[0] is not content]
        older = [(was, names | {n for n in there if _same(was.get(n), content[n])}) for was, names in before[:1]]
        self.versions = [(content, there), *older]
        offered = {name: was or name in content for name, was in self.forgotten.items()}
        # What was offered and is no longer has been dropped by the server: it may come back.
        self.forgotten = {name: was for name, was in offered.items() if name in content or not was}
        self.pending -= set(content)

    def forget(self, name: str) -> None:
        self.forgotten[name] = any(name in names for _, names in self.versions)
        self.versions = [(content, names - {name}) for content, names in self.versions]
        self.pending.discard(name)

    def add(self, name: str) -> None:
        self.forgotten.pop(name, None)
        if name not in self.versions[0][1]:
            self.pending.add(name)


@few
@given(st.lists(STEPS, min_size=1, max_size=8), CONTENTS)
def test_law_4_what_is_forgotten_is_gone(steps, first) -> None:
    """The kinds of faiss 255 (an index out of step after changes) and sqlite-vec 54 (space that is not freed)."""
    publisher, model = Publisher(), Model(first)
    with tempfile.TemporaryDirectory() as root:
        folder, given_file = Path(root) / "store", Path(root) / "given.pdx"
        store = _store(folder, publisher)
        versions, contents = [publisher.bundle(first, version=1)], [first]
        given_file.write_bytes(versions[0])
        store.apply(given_file)
        memory = store.memory()
        for action, argument in steps:
            if action in {"bundle", "patch"}:
                data = publisher.bundle(argument, version=len(versions) + 1)
                patch = container.encode(patching.make(parts(versions[-1]), parts(data)))
                given_file.write_bytes(patch if action == "patch" else data)
                try:
                    store.apply(given_file)
                except PatchMismatchError:
                    # From a version that the store has gone back from, or without what is asked for again.
                    given_file.write_bytes(data)
                    store.apply(given_file)
                versions.append(data)
                contents.append(dict(argument))
                model.apply(contents[-1])
            elif action == "again":
                given_file.write_bytes(versions[-1])
                store.apply(given_file)
                model.apply(contents[-1])
            elif action == "forget":
                if argument in {each.text for each in store.memory().preferences} or _in_older(model, argument):
                    store.forget(argument)
                    model.forget(argument)
                else:
                    with pytest.raises(ConfigurationError, match="no such preference"):
                        store.forget(argument)
            elif action == "add":
                store.add_preference(argument)
                model.add(argument)
            elif len(model.versions) > 1:
                store.previous()
                model.versions = model.versions[1:]
            _check(store, memory, folder, model)
            memory = store.memory()


def _in_older(model: Model, name: str) -> bool:
    return any(name in names for _, names in model.versions[1:])


def _check(store: DeviceStore, old: Memory, folder: Path, model: Model) -> None:
    content, there = model.versions[0]
    fresh, forgotten = store.memory(), set(model.forgotten)
    by_origin = {
        origin: {each.text for each in fresh.preferences if each.origin == origin} for origin in ("signed", "pending")
    }
    assert by_origin == {"signed": there, "pending": model.pending - there}
    # The same answers as from a bundle that never had what was forgotten.
    with tempfile.NamedTemporaryFile(suffix=".pdx") as file:
        without = {name: held for name, held in content.items() if name in there}
        Path(file.name).write_bytes(Publisher().bundle(without))
        other = Memory.open(file.name, trust=Publisher().trust, encoder=ENCODER, audience=AUDIENCE)
        if by_origin["pending"]:
            found, wanted = (each.query("topic 3 chunk", 20, scoring=UNSTEERED) for each in (fresh, other))
        else:
            found, wanted = (each.query("topic 3 chunk", 20) for each in (fresh, other))
        assert found == wanted
    assert not {each.text for each in old.preferences} & forgotten
    text = _decoded(folder)
    kept = {each.text for was, names in model.versions for name in names for each in was[name]}
    for name in forgotten:
        assert name not in text
        assert preference_id(name) not in text
        for was, _ in model.versions:
            assert not any(each.text in text for each in was.get(name, ()) if each.text not in kept)


EASY = LocalConfig(tau=0.05)
CHANGES: dict[str, Callable[[DeviceStore, Path], object]] = {
    "apply": lambda store, patch: store.apply(patch),
    "forget": lambda store, _: store.forget(NAMES[0]),
    "add": lambda store, _: store.add_preference("I like something new"),
    "previous": lambda store, _: store.previous(),
    "ingest": lambda store, _: store.ingest(["I like topic 1 a lot. It is what topic 1 is about."], config=EASY),
}


def _versions(publisher: Publisher) -> list[bytes]:
    contents = [
        {NAMES[0]: _entries(NAMES[0])([CHUNKS[0], CHUNKS[1]]), NAMES[1]: _entries(NAMES[1])([CHUNKS[1]])},
        {NAMES[0]: _entries(NAMES[0])([CHUNKS[0], CHUNKS[2]]), NAMES[1]: _entries(NAMES[1])([CHUNKS[1]])},
        {NAMES[2]: _entries(NAMES[2])([CHUNKS[3]]), NAMES[0]: _entries(NAMES[0])([CHUNKS[0]])},
    ]
    return [publisher.bundle(content, version=number) for number, content in enumerate(contents, 1)]


def _prepared(folder: Path, publisher: Publisher) -> Path:
    """Make a store with two versions; return a patch to a third."""
    versions = _versions(publisher)
    for data in versions[:2]:
        (folder / "given.pdx").write_bytes(data)
        _store(folder / "store", publisher).apply(folder / "given.pdx")
    patch = folder / "patch.pdx"
    patch.write_bytes(container.encode(patching.make(parts(versions[1]), parts(versions[2]))))
    return patch


def _seen(store: DeviceStore) -> tuple:
    """Return what a person sees of a store."""
    memory = store.memory()
    changes = store.changes()
    return (
        memory.stats().version,
        tuple((each.text, each.n_entries, each.origin) for each in memory.preferences),
        tuple((hit.text, hit.score) for hit in memory.query("topic", 20)),
        (changes.add, len(changes.forget)),
    )


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seed", range(6))
def test_law_5_the_power_is_cut_at_every_step(change: str, seed: int, tmp_path: Path, publisher: Publisher) -> None:
    rng, at = random.Random(seed), 0
    while True:
        folder = tmp_path / str(at)
        folder.mkdir()
        patch = _prepared(folder, publisher)
        before = _seen(_store(folder / "store", publisher))
        disk = CuttingDisk(at, rng)
        try:
            CHANGES[change](_store(folder / "store", publisher, disk), patch)
            cut = False
        except PowerCutError:
            cut = True
        after = _seen(_store(folder / "store", publisher))
        if not cut:
            assert after != before
            assert at > 2, "there were steps to cut"
            return
        done = _uncut(change, tmp_path / f"{at}-uncut", publisher)
        assert after in (before, done)
        # What was cut can be done again, and whatever was left over is gone.
        if after == before:
            CHANGES[change](_store(folder / "store", publisher), patch)
        else:
            store = _store(folder / "store", publisher)
            store.add_preference(store.memory().preferences[0].text)  # changes nothing
        assert _seen(_store(folder / "store", publisher)) == done
        assert _names(folder / "store") == _names(tmp_path / f"{at}-uncut" / "store")
        at += 1


def _uncut(change: str, folder: Path, publisher: Publisher) -> tuple:
    folder.mkdir()
    patch = _prepared(folder, publisher)
    CHANGES[change](_store(folder / "store", publisher), patch)
    return _seen(_store(folder / "store", publisher))


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


_CHILD = """
import sys
from pathlib import Path
from prefdex_client import DeviceStore
folder, root, patch = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
store = DeviceStore.open(folder, trust=root, audience="u-1")
print("ready", flush=True)
sys.stdin.readline()
{change}
"""
_CODE = {"apply": "store.apply(patch)", "forget": f"store.forget({NAMES[0]!r})"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_kills", [pytest.param(20, id="short"), pytest.param(200, marks=pytest.mark.soak, id="long")]
)
def test_law_5_killed_at_random_moments(n_kills: int, tmp_path: Path, publisher: Publisher) -> None:
    (tmp_path / "root.json").write_bytes(publisher.trust)
    patch = _prepared(tmp_path, publisher)
    whole = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
    done = {change: _uncut(change, tmp_path / f"uncut-{change}", publisher) for change in _CODE}
    code = {change: _CHILD.format(change=line) for change, line in _CODE.items()}
    before, rng, ends = _seen(_store(tmp_path / "store", publisher)), random.Random(n_kills), []
    for number in range(n_kills):
        _restore(tmp_path / "store", whole)
        change = list(_CODE)[number % 2]
        child = subprocess.Popen(
            [
                sys.executable,
                "-c",
                code[change],
                tmp_path / "store",
                tmp_path / "root.json",
                patch,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdout.readline()
        child.stdin.write(b"\n")
        child.stdin.flush()
        time.sleep(rng.uniform(0, 0.015))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        after = _seen(_store(tmp_path / "store", publisher))
        assert after in (before, done[change])
        ends.append(after == before)
    assert len(set(ends)) == 2 or n_kills < 50, "some were early and some late"


def _restore(folder: Path, files: dict[Path, bytes]) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path not in files:
            path.unlink()
    for path, data in files.items():
        path.write_bytes(data)


@pytest.mark.slow
def test_one_writer_at_a_time_and_readers_never_blocked(tmp_path: Path, publisher: Publisher) -> None:
    patch = _prepared(tmp_path, publisher)
    (tmp_path / "root.json").write_bytes(publisher.trust)
    loop = "for n in range(15): store.add_preference(f'{sys.argv[4]} {n}')"
    code = _CHILD.format(change=loop)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path / "store", tmp_path / "root.json", patch, name],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two", "three")
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    store, seen = _store(tmp_path / "store", publisher), 0
    memory = store.memory()
    while any(writer.poll() is None for writer in writers):
        assert store.memory().stats().version == 2
        assert len(memory.preferences) >= seen
        seen = len(memory.preferences)
    for writer in writers:
        assert writer.wait() == 0, writer.stderr.read() if writer.stderr else ""
    assert sorted(store.changes().add) == sorted(f"{name} {n}" for name in ("one", "two", "three") for n in range(15))


def test_a_writer_that_never_ends(tmp_path: Path, publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    from prefdex_client.store import writing

    _prepared(tmp_path, publisher)
    monkeypatch.setattr(writing, "_LOCK_TIMEOUT_S", 0.1)
    descriptor = os.open(tmp_path / "store" / "lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    store = _store(tmp_path / "store", publisher)
    with pytest.raises(ConfigurationError, match="Another process has been writing"):
        store.forget(NAMES[0])
    assert store.memory().stats().version == 2
    os.close(descriptor)
    store.forget(NAMES[0])


def test_changes_as_json_name_no_forgotten_text(tmp_path: Path, publisher: Publisher) -> None:
    _prepared(tmp_path, publisher)
    store = _store(tmp_path / "store", publisher)
    store.forget(NAMES[0])
    text = json.dumps([store.changes().forget, store.changes().salt])
    assert NAMES[0] not in text
    assert preference_id(NAMES[0]) not in text
