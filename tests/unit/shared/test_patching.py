"""Law 3: a patch leads to the same bytes as a fresh download."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared import container, patching
from prefdex_shared.container import Container
from prefdex_shared.errors import ConfigurationError, HashMismatchError, PatchMismatchError
from support.bundles import AUDIENCE, CONTENT, Publisher, entry, parts

PREFERENCES = [f"I like topic {number}" for number in range(6)]
CONTENTS = st.lists(st.sampled_from(PREFERENCES), unique=True).flatmap(
    lambda names: st.fixed_dictionaries(
        {name: st.lists(st.sampled_from([entry(f"Text {n}.") for n in range(5)]), unique=True) for name in names}
    )
)


@given(CONTENTS, CONTENTS, st.booleans())
def test_any_version_to_any_version(old_content, new_content, rotated: bool) -> None:
    publisher = Publisher()
    old = parts(publisher.bundle(old_content, version=3))
    if rotated:
        publisher.rotate(targets=30)
    new_bytes = publisher.bundle(new_content, version=9)
    patch = patching.make(old, parts(new_bytes))
    result = patching.apply(old, patch, trust=publisher.trust, audience=AUDIENCE)
    assert container.encode(result) == new_bytes
    assert not set(patch.files.values()) & set(old.files.values())
    assert len(patch.roots) == rotated


def test_a_patch_through_its_file_form(publisher: Publisher) -> None:
    old = parts(publisher.bundle(CONTENT))
    changed = {**CONTENT, "I like tea": [entry("Coffee is not tea.")]}
    new_bytes = publisher.bundle(changed, version=2)
    patch_bytes = container.encode(patching.make(old, parts(new_bytes)))
    assert list(parts(patch_bytes).files) == ["s1"]
    applied = patching.apply(old, parts(patch_bytes), trust=publisher.trust, audience=AUDIENCE)
    assert container.encode(applied) == new_bytes


def test_moved_shards_do_not_travel(publisher: Publisher) -> None:
    old = parts(publisher.bundle(CONTENT))
    backwards = dict(reversed(CONTENT.items()))
    patch = patching.make(old, parts(publisher.bundle(backwards, version=2)))
    assert patch.files == {}


def test_a_removed_preference_leaves_no_bytes(publisher: Publisher) -> None:
    """The kind of asg017/sqlite-vec 54: space that is not freed after a delete."""
    old_bytes = publisher.bundle(CONTENT)
    old = parts(old_bytes)
    kept = {text: CONTENT[text] for text in CONTENT if text != "I like trains"}
    patch = patching.make(old, parts(publisher.bundle(kept, version=2)))
    new_bytes = container.encode(patching.apply(old, patch, trust=publisher.trust, audience=AUDIENCE))
    removed = old.files["s0"]
    assert removed in old_bytes
    assert removed not in new_bytes
    assert len(new_bytes) < len(old_bytes) - len(removed)


def test_a_whole_bundle_is_a_patch_too(publisher: Publisher) -> None:
    publisher.rotate(targets=30)
    old, new = parts(publisher.bundle(CONTENT)), publisher.bundle({"I like tea": []}, version=2)
    assert container.encode(patching.apply(old, parts(new), trust=publisher.trust, audience=AUDIENCE)) == new


class TestRefused:
    def _apply(self, publisher: Publisher, old: bytes, patch: Container) -> Container:
        return patching.apply(parts(old), patch, trust=publisher.trust, audience=AUDIENCE)

    def test_made_for_another_base(self, publisher: Publisher) -> None:
        other = parts(publisher.bundle({**CONTENT, "I like sleep": []}))
        new = parts(publisher.bundle({**CONTENT, "I like sleep": []}, version=2))
        old = publisher.bundle({"I like tea": CONTENT["I like tea"]})
        with pytest.raises(PatchMismatchError, match=r"does not fit version 1: 4 files"):
            self._apply(publisher, old, patching.make(other, new))

    def test_applied_to_a_patch(self, publisher: Publisher) -> None:
        new = parts(publisher.bundle(CONTENT, version=2))
        with pytest.raises(PatchMismatchError, match="This is a patch"):
            patching.apply(Container((), new.targets, {}), new, trust=publisher.trust, audience=AUDIENCE)

    def test_roots_that_do_not_continue(self, publisher: Publisher) -> None:
        other = Publisher()
        other.rotate(targets=30)
        publisher.rotate(targets=31)
        with pytest.raises(ConfigurationError, match="do not continue"):
            patching.make(parts(other.bundle(CONTENT)), parts(publisher.bundle(CONTENT, version=2)))


class TestNotMade:
    def _make(self, old: bytes, new: bytes) -> Container:
        return patching.make(parts(old), parts(new))

    def test_between_two_users(self, publisher: Publisher) -> None:
        with pytest.raises(ConfigurationError, match="different users") as caught:
            self._make(publisher.bundle(CONTENT), publisher.bundle(CONTENT, version=2, audience="u-2"))
        assert "u-2" not in str(caught.value)

    @pytest.mark.parametrize("version", [1, 2])
    def test_to_a_version_that_is_not_newer(self, version: int, publisher: Publisher) -> None:
        with pytest.raises(ConfigurationError, match=f"version {version}, and the old one of 2"):
            self._make(publisher.bundle(CONTENT, version=2), publisher.bundle(CONTENT, version=version))

    def test_of_patches(self, publisher: Publisher) -> None:
        old, new = publisher.bundle(CONTENT), publisher.bundle({**CONTENT, "I like sleep": []}, version=2)
        patch = container.encode(self._make(old, new))
        with pytest.raises(PatchMismatchError, match="The new file is a patch"):
            self._make(old, patch)
        with pytest.raises(PatchMismatchError, match="The old file is a patch"):
            self._make(patch, publisher.bundle(CONTENT, version=3))

    def test_of_damaged_bundles(self, publisher: Publisher) -> None:
        new = parts(publisher.bundle(CONTENT, version=2))
        damaged = container.encode(Container((), new.targets, {**new.files, "s0": b"x"}))
        with pytest.raises(HashMismatchError, match="File 's0'"):
            self._make(publisher.bundle(CONTENT), damaged)
