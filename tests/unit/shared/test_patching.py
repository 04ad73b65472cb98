"""Law 3: a patch leads to the same bytes as a fresh download."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_shared import container, patching
from prefdex_shared.container import Container
from prefdex_shared.errors import ConfigurationError, ExpiredError, NotSignedError, RollbackError, WrongAudienceError
from support.bundles import AUDIENCE, CONTENT, PAST, Publisher, entry, parts

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


def test_a_whole_bundle_is_a_patch_too(publisher: Publisher) -> None:
    publisher.rotate(targets=30)
    old, new = parts(publisher.bundle(CONTENT)), publisher.bundle({"I like tea": []}, version=2)
    assert container.encode(patching.apply(old, parts(new), trust=publisher.trust, audience=AUDIENCE)) == new


class TestRefused:
    def _apply(self, publisher: Publisher, old: bytes, patch: Container) -> Container:
        return patching.apply(parts(old), patch, trust=publisher.trust, audience=AUDIENCE)

    def test_older_than_the_bundle(self, publisher: Publisher) -> None:
        old = publisher.bundle(CONTENT, version=5)
        with pytest.raises(RollbackError):
            self._apply(publisher, old, parts(publisher.bundle(CONTENT, version=4)))

    def test_expired(self, publisher: Publisher) -> None:
        old = publisher.bundle(CONTENT)
        with pytest.raises(ExpiredError, match="2020-01-01"):
            self._apply(publisher, old, parts(publisher.bundle(CONTENT, version=2, expires=PAST)))

    def test_for_another_user(self, publisher: Publisher) -> None:
        old = publisher.bundle(CONTENT)
        with pytest.raises(WrongAudienceError):
            self._apply(publisher, old, parts(publisher.bundle(CONTENT, version=2, audience="u-2")))

    def test_made_for_another_base(self, publisher: Publisher) -> None:
        other = parts(publisher.bundle({**CONTENT, "I like sleep": []}))
        new = parts(publisher.bundle({**CONTENT, "I like sleep": []}, version=2))
        old = publisher.bundle({"I like tea": CONTENT["I like tea"]})
        with pytest.raises(ConfigurationError, match=r"does not fit version 1: 4 files"):
            self._apply(publisher, old, patching.make(other, new))

    def test_tampered(self, publisher: Publisher) -> None:
        new = parts(publisher.bundle({"I like tea": []}, version=2))
        patch = Container((), new.targets, {"s0": new.files["s0"] + b"x"})
        with pytest.raises(NotSignedError, match="File 's0'"):
            self._apply(publisher, publisher.bundle(CONTENT), patch)

    def test_applied_to_a_patch(self, publisher: Publisher) -> None:
        new = parts(publisher.bundle(CONTENT, version=2))
        with pytest.raises(ConfigurationError, match="This is a patch"):
            patching.apply(Container((), new.targets, {}), new, trust=publisher.trust, audience=AUDIENCE)

    def test_roots_that_do_not_continue(self, publisher: Publisher) -> None:
        other = Publisher()
        other.rotate(targets=30)
        publisher.rotate(targets=31)
        with pytest.raises(ConfigurationError, match="do not continue"):
            patching.make(parts(other.bundle(CONTENT)), parts(publisher.bundle(CONTENT, version=2)))
