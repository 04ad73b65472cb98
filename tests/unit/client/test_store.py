"""The store on the device: versions, what was forgotten, what was added."""

from pathlib import Path

import pytest

from prefdex_client import DeviceStore, Memory
from prefdex_shared import container, patching
from prefdex_shared.errors import (
    ConfigurationError,
    ExpiredError,
    FormatError,
    HashMismatchError,
    NewerFormatError,
    NotSignedError,
    PatchMismatchError,
    PrefdexError,
    RollbackError,
    WrongAudienceError,
)
from prefdex_shared.trust import read_claims
from support.bundles import AUDIENCE, CONTENT, ENCODER, PAST, Publisher, entry, parts
from support.disks import FullDisk

TEA, TRAINS = "I like tea", "I like trains"
MORE = {**CONTENT, "I like sleep": [entry("Sleep is long.")]}
WITHOUT_TEA = {text: entries for text, entries in CONTENT.items() if text != TEA}


class Phone:
    """A store, and a publisher whose files it is given."""

    def __init__(self, folder: Path, publisher: Publisher) -> None:
        self.folder, self.publisher = folder, publisher
        self.store = self.open()

    def open(self, **options) -> DeviceStore:
        given = {"trust": self.publisher.trust, "audience": AUDIENCE, "encoder": ENCODER} | options
        return DeviceStore.open(self.folder / "store", **given)

    def file(self, data: bytes) -> Path:
        path = self.folder / "given.pdx"
        path.write_bytes(data)
        return path

    def apply(self, content, version: int = 1, **options) -> bytes:
        data = self.publisher.bundle(content, version=version, **options)
        self.store.apply(self.file(data))
        return data

    def texts(self) -> list[str]:
        return [each.text for each in self.store.memory().preferences]

    def stored(self) -> dict[str, bytes]:
        root = self.folder / "store"
        return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def phone(tmp_path: Path, publisher: Publisher) -> Phone:
    return Phone(tmp_path, publisher)


def test_from_nothing_to_answers(phone: Phone) -> None:
    with pytest.raises(ConfigurationError, match="no version on this device yet"):
        phone.store.memory()
    data = phone.publisher.bundle(CONTENT)
    applied = phone.store.apply(phone.file(data))
    assert (applied.version, applied.n_files) == (1, 4)
    memory, file = (
        phone.store.memory(),
        Memory.open(phone.file(data), trust=phone.publisher.trust, encoder=ENCODER, audience=AUDIENCE),
    )
    assert memory.query("tea", 4) == file.query("tea", 4)
    assert memory.preferences == file.preferences
    assert memory.stats().version == 1
    assert phone.open().memory().query("tea", 4) == file.query("tea", 4)


def test_patches_and_what_is_kept(phone: Phone) -> None:
    first = phone.apply(CONTENT)
    second = phone.publisher.bundle(MORE, version=2)
    patch = container.encode(patching.make(parts(first), parts(second)))
    applied = phone.store.apply(phone.file(patch))
    assert (applied.version, applied.n_files) == (2, 2)
    third = phone.apply({TEA: CONTENT[TEA]}, version=3)
    # Of three versions, two are kept: the files of the first alone are gone.
    names = {name for name in phone.stored() if name.startswith("files/")}
    hashes = {digest for data in (second, third) for digest in read_claims(parts(data)).hashes.values()}
    assert names == {f"files/{digest}" for digest in hashes}


def test_a_rotated_key_is_followed_and_the_old_one_no_longer_taken(phone: Phone) -> None:
    phone.apply(CONTENT)
    old = phone.publisher.bundle(CONTENT, version=9)
    phone.publisher.rotate(targets=20)
    # With the new key the versions begin anew, as in TUF.
    phone.apply(MORE, version=1)
    assert phone.store.memory().stats().version == 1
    # A container without the newer root, signed by the key that was replaced.
    with pytest.raises(NotSignedError):
        phone.store.apply(phone.file(old))
    assert phone.texts() == list(MORE)


@pytest.mark.parametrize("kind", ["file", "patch", "older folder"])
def test_a_rollback(kind: str, phone: Phone) -> None:
    first, second = phone.apply(CONTENT, version=4), phone.publisher.bundle(MORE, version=5)
    back = phone.publisher.bundle(CONTENT, version=4)
    if kind == "patch":
        back = container.encode(patching.make(parts(phone.publisher.bundle(MORE, version=3)), parts(first)))
    phone.store.apply(phone.file(second))
    if kind == "older folder":
        # Back by the store's own rules, and then the version before offered again.
        assert phone.store.previous() == 4
    with pytest.raises(RollbackError, match="version 4, and version 5 was here already"):
        phone.store.apply(phone.file(back))


def test_expired(phone: Phone) -> None:
    expired = phone.publisher.bundle(CONTENT, expires=PAST)
    with pytest.raises(ExpiredError):
        phone.store.apply(phone.file(expired))
    phone.store.apply(phone.file(expired), allow_expired=True)
    assert phone.store.memory().stats().stale


def test_previous(phone: Phone) -> None:
    with pytest.raises(ConfigurationError, match="no earlier version"):
        phone.store.previous()
    phone.apply(CONTENT)
    second = phone.apply(WITHOUT_TEA, version=2)
    assert phone.store.previous() == 1
    assert TEA in phone.texts()
    phone.store.apply(phone.file(second))
    assert TEA not in phone.texts()
    phone.store.previous()
    with pytest.raises(ConfigurationError, match="no earlier version"):
        phone.store.previous()


class TestForgetting:
    def test_it_is_gone_at_once_and_stays_away(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        memory = phone.store.memory()
        assert "Tea grows on hills." in {hit.text for hit in memory.query("tea", 10)}
        before = sum(map(len, phone.stored().values()))
        phone.store.forget("  I   like tea ")
        # Open memories, other processes, the files, and the version before.
        assert TEA not in {each.text for each in memory.preferences}
        assert "Tea grows on hills." not in {hit.text for hit in memory.query("tea", 10)}
        assert "Both like tea." in {hit.text for hit in memory.query("tea", 10)}
        assert TEA not in [each.text for each in phone.open().memory().preferences]
        assert sum(map(len, phone.stored().values())) < before - 150
        # A version that still offers it.
        phone.apply(MORE, version=2)
        assert phone.texts() == [text for text in MORE if text != TEA]
        phone.store.previous()
        assert TEA not in phone.texts()

    def test_the_same_version_again_keeps_the_one_before_whole(self, phone: Phone) -> None:
        """A forgotten shard that changed between the versions is missing from both, and that is no damage."""
        phone.apply(CONTENT)
        changed = {**CONTENT, TEA: [entry("Tea is also green.")]}
        second = phone.apply(changed, version=2)
        phone.store.forget(TEA)
        phone.store.apply(phone.file(second))
        assert phone.store.previous() == 1
        assert phone.texts() == [text for text in CONTENT if text != TEA]

    def test_a_patch_fits_what_was_forgotten(self, phone: Phone) -> None:
        first = phone.apply(CONTENT)
        phone.store.forget(TEA)
        patch = patching.make(parts(first), parts(phone.publisher.bundle(MORE, version=2)))
        phone.store.apply(phone.file(container.encode(patch)))
        assert phone.texts() == [text for text in MORE if text != TEA]

    def test_the_server_drops_it_and_offers_it_anew(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        phone.store.forget(TEA)
        assert len(phone.store.changes().forget) == 1
        phone.apply(WITHOUT_TEA, version=2)
        assert phone.store.changes().forget == ()
        phone.apply(CONTENT, version=3)
        assert TEA in phone.texts()

    def test_asked_for_again(self, phone: Phone) -> None:
        first = phone.apply(CONTENT)
        phone.store.forget(TEA)
        phone.store.add_preference(TEA)
        assert phone.store.changes().forget == ()
        assert [(each.text, each.origin) for each in phone.store.memory().preferences][-1] == (TEA, "pending")
        # A patch that counts on its file does not fit, and says so; the whole bundle does.
        patch = patching.make(parts(first), parts(phone.publisher.bundle(MORE, version=2)))
        with pytest.raises(PatchMismatchError, match="1 files of version 2 are missing"):
            phone.store.apply(phone.file(container.encode(patch)))
        phone.apply(MORE, version=2)
        assert phone.texts() == list(MORE)
        assert phone.store.changes().add == ()
        assert "Tea grows on hills." in {hit.text for hit in phone.store.memory().query("tea", 10)}

    def test_what_is_not_there(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        before = phone.stored()
        with pytest.raises(ConfigurationError, match="no such preference") as caught:
            phone.store.forget("I like secrets")
        assert "secrets" not in f"{caught.value} {caught.value.hint}"
        assert phone.stored() == before

    def test_one_user_never_touches_another(self, tmp_path: Path, publisher: Publisher) -> None:
        """The kind of mem0ai/mem0 3746: deleting one user's memory wipes everyone's."""
        phones = [Phone(tmp_path / name, publisher) for name in ("a", "b") if (tmp_path / name).mkdir() is None]
        for each in phones:
            each.apply(CONTENT)
        before = phones[1].stored()
        phones[0].store.forget(TEA)
        assert phones[1].stored() == before

    def test_a_preference_replaced_by_its_opposite(self, phone: Phone) -> None:
        """The kind of mem0ai/mem0 4536: updating a preference loses both versions."""
        opposite = "I do not like tea"
        phone.apply(CONTENT)
        phone.store.forget(TEA)
        phone.store.add_preference(opposite)
        assert [each for each in phone.texts() if "tea" in each] == [opposite]
        phone.apply(WITHOUT_TEA | {opposite: [entry("Coffee is black.")]}, version=2)
        assert [each for each in phone.texts() if "tea" in each] == [opposite]
        assert phone.store.changes().add == phone.store.changes().forget == ()


class TestAdding:
    def test_it_steers_at_once(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        memory = phone.store.memory()
        before = memory.query("stations at night", 4)
        phone.store.add_preference("I like stations at night")
        steered = memory.steer("stations at night")
        assert steered.preference == len(CONTENT)
        assert memory.query("stations at night", 4) != before
        assert phone.open().changes().add == ("I like stations at night",)
        phone.store.forget("I like stations at night")
        assert memory.query("stations at night", 4) == before

    def test_what_was_never_offered_stays_forgotten(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        phone.store.add_preference("I like sleep")
        phone.store.forget("I like sleep")
        # The server may have heard of it, and builds it some versions later.
        phone.apply(CONTENT, version=2)
        phone.apply(MORE, version=3)
        assert "I like sleep" not in phone.texts()

    def test_what_is_there_is_not_added_twice(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        for text in (TEA, "I like sleep", " I like  sleep "):
            phone.store.add_preference(text)
        assert phone.store.changes().add == ("I like sleep",)

    @pytest.mark.parametrize("text", ["", "  \n", "x" * 4_001])
    def test_what_is_no_preference(self, text: str, phone: Phone) -> None:
        with pytest.raises(ConfigurationError, match="1 to 4000 characters"):
            phone.store.add_preference(text)

    def test_before_any_version(self, phone: Phone) -> None:
        phone.store.add_preference(TEA)
        phone.apply(CONTENT)
        assert phone.store.changes().add == ()


class TestRefused:
    def test_another_users_store(self, phone: Phone) -> None:
        with pytest.raises(WrongAudienceError):
            phone.open(audience="u-2")

    def test_a_folder_of_something_else(self, phone: Phone, tmp_path: Path) -> None:
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "a.jpg").write_bytes(b"x")
        with pytest.raises(ConfigurationError, match="holds something else than a store"):
            DeviceStore.open(tmp_path / "photos", trust=phone.publisher.trust, audience=AUDIENCE)
        assert [path.name for path in (tmp_path / "photos").iterdir()] == ["a.jpg"]
        with pytest.raises(ConfigurationError, match="cannot be written"):
            DeviceStore.open(tmp_path / "photos" / "a.jpg", trust=phone.publisher.trust, audience=AUDIENCE)

    def test_without_an_encoder(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        with pytest.raises(ConfigurationError, match="needs an encoder"):
            phone.open(encoder=None).memory()

    def test_another_publisher(self, phone: Phone) -> None:
        phone.apply(CONTENT)
        with pytest.raises(NotSignedError):
            phone.open(trust=Publisher(first=40).trust).memory()

    @pytest.mark.parametrize("how", ["changed", "removed", "longer"])
    def test_damage_on_the_disk(self, how: str, phone: Phone) -> None:
        phone.apply(CONTENT)
        for name, data in phone.stored().items():
            path = phone.folder / "store" / name
            if how == "removed":
                path.unlink()
            else:
                path.write_bytes({"longer": data + b"x", "changed": data[:-1] + b"\x7f"}[how])
            if name != "lock":
                with pytest.raises((FormatError, HashMismatchError, NotSignedError)):
                    phone.open().memory()
            path.write_bytes(data)
        phone.open().memory()

    def test_a_newer_store(self, phone: Phone) -> None:
        from prefdex_shared import wire

        (phone.folder / "store" / "state").write_bytes(wire.pack({"format": 2}))
        with pytest.raises(NewerFormatError, match="store: it is of format 2"):
            phone.open()


@pytest.mark.parametrize("change", ["apply", "forget", "add"])
def test_a_full_disk_leaves_the_version(change: str, phone: Phone) -> None:
    phone.apply(CONTENT)
    data = phone.file(phone.publisher.bundle(MORE, version=2))
    before, answers = phone.stored(), phone.store.memory().query("tea", 9)
    for n_bytes in range(0, 3_000, 61):
        store = phone.open(disk=FullDisk(n_bytes))
        changes = {
            "apply": lambda store=store: store.apply(data),
            "forget": lambda store=store: store.forget(TEA),
            "add": lambda store=store: store.add_preference("I like sleep"),
        }
        try:
            changes[change]()
        except ConfigurationError as error:
            assert "No space left on device" in str(error)
            assert "No version was lost" in str(error)
            assert phone.store.memory().query("tea", 9) == answers
            named = {name: content for name, content in phone.stored().items() if name in before}
            assert named == before
        else:
            assert n_bytes > 100
            return
    raise AssertionError("it never fits")


def test_every_error_is_one_of_ours(phone: Phone) -> None:
    (phone.folder / "store" / "state").unlink()
    (phone.folder / "store" / "state").mkdir()
    with pytest.raises(PrefdexError):
        phone.open()
