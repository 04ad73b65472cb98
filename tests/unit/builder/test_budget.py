"""The byte budget is never exceeded, whatever the input."""

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from securesystemslib.signer import CryptoSigner

from prefdex_builder.budget import Rung, choose, cost, gains, rung_lengths
from prefdex_builder.bundling import Bundler
from prefdex_builder.config import BuildConfig
from prefdex_builder.preferences import User, make_user
from prefdex_builder.report import UserReport
from prefdex_builder.stages import trim
from prefdex_builder.stages.trim import trim_stored
from prefdex_builder.workspace import ShardRecord, Workspace
from prefdex_client import Memory
from prefdex_shared import container
from prefdex_shared import shard as shards
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.ids import content_hash
from prefdex_shared.packing import pack
from prefdex_shared.records import Entry, Preference
from support.bundles import ENCODER, Publisher, entry

LADDERS = st.lists(
    st.lists(st.tuples(st.integers(1, 70_000), st.floats(0, 1)), min_size=1, max_size=6).map(
        lambda steps: [Rung(at, "", n_bytes, gain) for at, (n_bytes, gain) in enumerate(sorted(steps))]
    ),
    max_size=5,
)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)
CONTENTS = st.dictionaries(
    TEXTS.map(lambda text: Preference(text).text).filter(bool),
    st.lists(
        st.builds(Entry, TEXTS, TEXTS, TEXTS, TEXTS, st.floats(0, 1), st.floats(-1, 1)),
        max_size=9,
        unique_by=lambda each: each.text,
    ),
    max_size=4,
)
RICH = {
    f"I like topic {number}": [entry(f"{content_hash(str(at))} of {number}", f"Note {at * 7 % 13}") for at in range(40)]
    for number in range(4)
}


class Shop:
    """A workspace in a folder, in which shards stand ready to be bundled."""

    def __init__(self, folder: str | Path, publisher: Publisher | None = None) -> None:
        self.workspace = Workspace.at(Path(folder))
        self.publisher = publisher or Publisher()

    def stock(self, content: Mapping[str, Sequence[Entry]]) -> list[ShardRecord]:
        records = []
        for text, entries in content.items():
            data = pack(Preference(text), entries, ENCODER)
            sha256 = self.workspace.shards.put(data)
            trim_stored(self.workspace.shards, sha256)
            n = len(entries)
            records.append(ShardRecord(sha256, len(data), n, n, 0, n, 0))
        return records

    def bundler(self, max_bytes: int | None) -> Bundler:
        config = BuildConfig(max_bundle_bytes=max_bytes)
        return Bundler(self.workspace, self.publisher.signer(), ENCODER.id, "fake", config)

    def give(self, content: Mapping[str, Sequence[Entry]], max_bytes: int | None, user: str = "u-1") -> UserReport:
        return self.bundler(max_bytes).give(_user(content, user), self.stock(content))


def _user(content: Mapping[str, Sequence[Entry]], user: str = "u-1") -> User:
    return make_user(user, list(content))


@given(LADDERS, st.integers(0, 200_000))
def test_what_is_chosen_fits_and_nothing_more_would(ladders: list[list[Rung]], spare: int) -> None:
    room = sum(cost(ladder[0].n_bytes) for ladder in ladders) + spare
    chosen = choose(ladders, room)
    used = sum(cost(ladder[at].n_bytes) for ladder, at in zip(ladders, chosen, strict=True))
    assert used <= room
    for ladder, at in zip(ladders, chosen, strict=True):
        for above in ladder[at + 1 :]:
            assert cost(above.n_bytes) - cost(ladder[at].n_bytes) > room - used


@given(LADDERS)
def test_with_room_for_all_all_is_chosen(ladders: list[list[Rung]]) -> None:
    assert choose(ladders, 10**9) == [len(ladder) - 1 for ladder in ladders]


def test_the_step_that_gains_most_for_its_bytes_is_taken_first() -> None:
    dear = [Rung(0, "", 100, 0.0), Rung(1, "", 300, 1.0)]
    cheap = [Rung(0, "", 100, 0.0), Rung(1, "", 200, 0.9)]
    assert choose([dear, cheap], 2 * cost(100) + 150) == [0, 1]
    assert choose([cheap, cheap], 2 * cost(100) + 150) == [1, 0]


def test_rungs_are_powers_of_two_none_and_all() -> None:
    assert [rung_lengths(n) for n in (0, 1, 2, 3, 8, 20)] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 1, 2, 4, 8],
        [0, 1, 2, 4, 8, 16, 20],
    ]


def test_later_entries_of_a_preference_count_less() -> None:
    np.testing.assert_allclose(gains(np.array([0.6, 0.6, 0.3])), [0, 0.6, 0.9, 1.0])


def test_a_rung_is_the_beginning_of_the_whole_shard() -> None:
    whole = shards.decode(pack(Preference("I like topic 0"), RICH["I like topic 0"], ENCODER), "shard")
    for rung, data in trim(shards.encode(whole)):
        short = shards.decode(data, "rung")
        assert short.entries == whole.entries[: rung.n_entries]
        np.testing.assert_array_equal(short.codes, whole.codes[: 1 + rung.n_entries])
        assert rung.n_bytes == len(data)


@settings(deadline=None, max_examples=60)
@given(CONTENTS, st.floats(0, 1.1), st.booleans())
def test_the_cap_is_never_passed(content: dict[str, list[Entry]], share: float, any_length: bool) -> None:
    # Signatures of ECDSA have no fixed length.
    publisher = Publisher(targets=CryptoSigner.generate_ecdsa()) if any_length else Publisher()
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(folder, publisher)
        whole = shop.give(content, None)
        cap = max(1, int(whole.bundle_bytes * share))
        try:
            report = shop.give(content, cap, "u-2")
        except ConfigurationError as error:
            least = int(error.hint.split()[3])
            assert least > cap
            report = shop.give(content, least, "u-2")
            assert report.bundle_bytes <= least
            if not any_length:
                with pytest.raises(ConfigurationError, match="empty shards alone"):
                    shop.give(content, least - 1, "u-3")
        else:
            assert report.bundle_bytes <= cap
        data = Path(report.path).read_bytes()
        assert len(data) == report.bundle_bytes
        memory = Memory.open(report.path, trust=publisher.trust, encoder=ENCODER, audience="u-2")
        for kept, all_of, told in zip(memory.preferences, content.values(), report.preferences, strict=True):
            assert kept.n_entries + told.left_out == told.entries == len(all_of)


def test_more_room_is_never_worse(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    whole = shop.give(RICH, None).bundle_bytes
    kept = [
        sum(each.entries - each.left_out for each in shop.give(RICH, cap, f"u-{cap}").preferences)
        for cap in range(4_000, whole + 2_000, 2_000)
    ]
    assert kept[0] < kept[-1] == 160
    assert all(before <= after for before, after in itertools.pairwise(kept))


def test_shortened_shards_are_shared_by_users(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    first, second = (shop.give(RICH, 8_000, user) for user in ("u-1", "u-2"))
    ladders = {rung.sha256 for record in shop.stock(RICH) for rung in shop.workspace.shards.ladder(record.sha256)}
    files = [container.decode(Path(each.path).read_bytes()).files for each in (first, second)]
    assert {name: data for name, data in files[0].items() if name != "manifest"} == {
        name: data for name, data in files[1].items() if name != "manifest"
    }
    assert all(shop.workspace.shards.put(data) in ladders for name, data in files[0].items() if name != "manifest")
    assert any(each.left_out for each in first.preferences)


def test_the_same_budget_again_makes_no_new_version(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    # Ten versions, so that the number grows a digit on the way.
    for version in range(1, 12):
        cap = 6_000 + version % 2 * 4_000
        report = shop.give(RICH, cap)
        assert (report.version, report.is_new) == (version, True)
        again = shop.give(RICH, cap)
        assert (again.version, again.is_new) == (version, False)


def test_only_those_over_their_budget_need_trimming(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    size = shop.give(RICH, None).bundle_bytes
    records = shop.stock(RICH)
    for cap, expected in ((None, False), (size, False), (size - 1, True)):
        assert shop.bundler(cap).needs_trimming(_user(RICH), records) is expected


@pytest.mark.parametrize("n_shards", [0, 1, 3, 600])
def test_the_computed_size_is_that_of_the_signed_bundle(n_shards: int) -> None:
    signer = Publisher().signer()
    manifest = Bundler(Workspace.at(Path()), signer, ENCODER.id, "fake", BuildConfig())._manifest(
        _user({}), range(n_shards)
    )
    sizes = [(7 * number * number) % 70_000 for number in range(n_shards)]
    sizes = [size if sum(sizes) < 4 << 20 else size % 700 for size in sizes]
    for version in (1, 9, 10, 1_000):
        signed = signer.sign(manifest, [bytes(size) for size in sizes], version=version)
        assert signer.size(manifest, sizes, version=version) == len(signed)
