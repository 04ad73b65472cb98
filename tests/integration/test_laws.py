"""Laws 1 to 3 of the design, over generated corpora, preferences and sequences of changes."""

import random
import tempfile
import unicodedata
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from prefdex_builder.config import BuildConfig
from prefdex_builder.patching import make_patch
from prefdex_builder.report import BuildReport
from prefdex_client import Memory, apply_patch
from prefdex_shared import container, patching, shard
from prefdex_shared.container import Container
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.ids import preference_id
from prefdex_shared.records import Preference
from support.bundles import AUDIENCE, Publisher, entry, parts
from support.place import CONFIG, InlineSession, Place

COMPOSED = "Café crème, déjà vu"
ODD = ("電車に乗る", "👩‍👩‍👧 tea", "عربي tea", "a\u0301 tea", "tea\u200bparty", "NUL\0tea", "tea " * 300)
SENTENCES = tuple(f"People like {what} for reason {n}." for what in ("tea", "trains", COMPOSED) for n in range(4))
TEXTS = st.sampled_from((*SENTENCES, *ODD)) | st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)


def _is_document(text: str) -> bool:
    return any(map(str.isalnum, text))


DOCUMENTS = st.dictionaries(st.sampled_from("abcdefghij"), TEXTS.filter(_is_document), min_size=1, max_size=10)
PREFERENCES = st.lists(
    st.sampled_from(
        (
            "I like tea",
            "I LIKE tea",
            "  I  like\ttea ",
            f"I like {COMPOSED}",
            unicodedata.normalize("NFD", f"I like {COMPOSED}"),
            "People like trains",
            *ODD[:6],
        )
    )
    | st.text(st.characters(codec="utf-8"), min_size=1, max_size=30),
    max_size=5,
    unique_by=preference_id,
).map(lambda texts: [text for text in texts if Preference(text).text])
SEEDS = st.integers(0, 2**32 - 1)

# Each example is a small world: a quarter of what is usual.
few = settings(max_examples=settings.default.max_examples // 4)


class Run:
    """A builder of its own, whose stages run in any order.

    Args:
        folder: Where.
        rng: Decides the order.
    """

    def __init__(self, folder: Path, rng: random.Random) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.place = Place(folder, InlineSession(rng))
        self._rng, self._n_added = rng, 0

    def add(self, documents: dict[str, str]) -> None:
        """Add documents, in any order, in any number of files."""
        self._n_added += 1
        rows = [{"id": key, "title": f"Title {key}", "text": text} for key, text in documents.items()]
        self._rng.shuffle(rows)
        self.place.add(rows, n_files=self._rng.randint(1, 3), name=f"corpus-{self._n_added}")

    def build(self, users: dict[str, list[str]], config: BuildConfig = CONFIG) -> BuildReport:
        """Build."""
        return self.place.build(users, config)

    def shards(self, users: dict[str, list[str]], config: BuildConfig = CONFIG) -> dict[str, dict[str, bytes]]:
        """Build; return the shards by user and preference."""
        report = self.build(users, config)
        return {
            user: {shard.decode(data, "shard").preference.id: data for data in self.place.shards(report, user)}
            for user in users
        }


class TestLaws:
    """Stages run in this process, so that many small worlds can be built; test_build has the same on Ray."""

    @few
    @given(documents=DOCUMENTS, earlier=DOCUMENTS, preferences=PREFERENCES, seed=SEEDS)
    def test_law_1_shards_depend_on_nothing_but_content(self, documents, earlier, preferences, seed) -> None:
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as root:
            at_once, bit_by_bit = (Run(Path(root) / name, rng) for name in ("one", "two"))
            at_once.add(documents)
            expected = at_once.shards({"u-1": preferences})["u-1"]
            # Another history: other texts first, then the documents in two parts, and built for in between.
            bit_by_bit.add({key: text for key, text in earlier.items() if key in documents} or documents)
            bit_by_bit.build({"u-1": preferences[:2]})
            keys = rng.sample(list(documents), len(documents))
            for some in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
                if some:
                    bit_by_bit.add({key: documents[key] for key in some})
            shuffled = rng.sample(preferences, len(preferences))
            found = bit_by_bit.shards({"a": shuffled[:2], "b": shuffled[1:], "none": []})
            assert found["a"] | found["b"] == expected
            assert set(expected) == {preference_id(text) for text in preferences}

    @few
    @given(
        steps=st.lists(DOCUMENTS | st.integers(0, 100), min_size=2, max_size=6),
        preferences=PREFERENCES,
        caps=st.tuples(st.integers(1, 6), st.integers(0, 3)),
        seed=SEEDS,
    )
    def test_law_1_whatever_was_added_and_removed_before(self, steps, preferences, caps, seed) -> None:
        """Candidates of earlier builds, searched up to some block, with chunks that die and come back, under a cap."""
        rng = random.Random(seed)
        filtering = FilterConfig(tau=0.15, max_candidates=max(caps), min_candidates=caps[1])
        config = replace(CONFIG, filtering=filtering)
        with tempfile.TemporaryDirectory() as root:
            grown, held = Run(Path(root) / "grown", rng), {}
            for step in steps:
                if isinstance(step, dict):
                    grown.add(step)
                    held.update(step)
                elif held:
                    gone = sorted(held)[step % len(held)]
                    grown.place.remove(gone)
                    del held[gone]
                # Not all preferences each time, so that some were searched further than others.
                if held:
                    grown.build({"u-1": rng.sample(preferences, rng.randint(0, len(preferences)))}, config)
            if held:
                at_once = Run(Path(root) / "at-once", rng)
                at_once.add(held)
                users = {"u-1": preferences}
                assert grown.shards(users, config) == at_once.shards(users, config)

    @few
    @given(
        documents=DOCUMENTS, preferences=PREFERENCES, split=st.tuples(st.integers(0, 5), st.integers(0, 5)), seed=SEEDS
    )
    def test_law_2_a_union_of_preferences_is_a_union_of_shards(self, documents, preferences, split, seed) -> None:
        first, second = preferences[: max(split)], preferences[min(split) :]
        with tempfile.TemporaryDirectory() as root:
            run = Run(Path(root), random.Random(seed))
            run.add(documents)
            found = run.shards({"a": first, "b": second, "both": preferences})
            assert found["a"] | found["b"] == found["both"]

    @few
    @given(
        documents=DOCUMENTS,
        changes=st.lists(st.tuples(PREFERENCES, DOCUMENTS | st.none()), min_size=1, max_size=4),
        seed=SEEDS,
    )
    def test_law_3_any_path_of_patches_leads_to_a_fresh_download(self, documents, changes, seed) -> None:
        """The kind of facebookresearch/faiss 255: an index out of step after adding, removing and adding again."""
        rng = random.Random(seed)
        with tempfile.TemporaryDirectory() as root:
            run = Run(Path(root), rng)
            run.add(documents)
            versions = []
            for preferences, added in changes:
                if added:
                    run.add(added)
                [user] = run.build({"u-1": preferences}).users
                if user.is_new:
                    versions.append(Path(user.path))
            device, trust = Path(root) / "device.pdx", run.place.keys.root
            device.write_bytes(versions[0].read_bytes())
            held = 0
            while held < len(versions) - 1:
                new = rng.randrange(held + 1, len(versions))  # a device may miss versions
                patch = Path(make_patch(versions[held], versions[new], Path(root) / "patch.pdx", trust=trust).path)
                apply_patch(device, patch, device, trust=trust, audience="u-1")
                assert device.read_bytes() == versions[new].read_bytes()
                assert _answers(device, trust) == _answers(versions[new], trust)
                held = new


def _answers(bundle: Path, trust: Path) -> list[list[tuple[str, float]]]:
    memory = Memory.open(bundle, trust=trust, encoder="hashing:", audience="u-1")
    return [[(hit.text, hit.score) for hit in memory.query(text, 20)] for text in ("tea", "I like trains", COMPOSED)]


def test_laws_1_and_2_with_thousands_of_entries(tmp_path: Path) -> None:
    documents = {f"d{n:04d}": f"People like tea for reason {n}." for n in range(2_500)}
    config = replace(CONFIG, filtering=FilterConfig(tau=0.15, max_candidates=5_000))
    found = []
    for seed in (1, 2):
        run = Run(tmp_path / str(seed), random.Random(seed))
        run.add(documents)
        report = run.place.build({"u-1": ["People like tea"]}, config)
        assert report.entries > 1_000
        found.append(run.place.shards(report))
    assert found[0] == found[1]


def test_law_3_with_thousands_of_entries() -> None:
    publisher = Publisher()
    many = [entry(f"Chunk number {number}.") for number in range(3_000)]
    old = parts(publisher.bundle({"a": many, "b": many[:5]}))
    new = publisher.bundle({"b": many[:5], "c": [], "a": many[:-1]}, version=2)
    patch = patching.make(old, parts(new))
    assert set(patch.files) == {"manifest", "s1", "s2"}
    applied: Container = patching.apply(old, patch, trust=publisher.trust, audience=AUDIENCE)
    assert container.encode(applied) == new
