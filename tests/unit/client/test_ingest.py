"""Documents that come to a device: matched, marked as local, within the budget, and gone with their preference."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefdex_client import DeviceStore, Document, LocalConfig, Memory
from prefdex_client.local import evicting, window
from prefdex_client.local.llms import open_llm
from prefdex_client.local.window import WindowChunk
from prefdex_shared import ranking, shard
from prefdex_shared.errors import ConfigurationError, FormatError
from prefdex_shared.llm import FakeLLM, Prompt
from prefdex_shared.records import Chunk, Preference
from support.bundles import AUDIENCE, CONTENT, ENCODER, Publisher, entry

TEA, TRAINS = "I like tea", "I like trains"
CONFIG = LocalConfig(tau=0.1)


@pytest.fixture
def store(tmp_path: Path, publisher: Publisher) -> DeviceStore:
    (tmp_path / "given.pdx").write_bytes(publisher.bundle(CONTENT))
    store = _open(tmp_path, publisher)
    store.apply(tmp_path / "given.pdx")
    return store


def _open(folder: Path, publisher: Publisher) -> DeviceStore:
    return DeviceStore.open(folder / "store", trust=publisher.trust, audience=AUDIENCE, encoder=ENCODER)


def _n_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "store").rglob("*") if path.is_file())


def _keep_all(prompt: str) -> str:
    if '"decision"' in prompt or "decision" in prompt:
        return json.dumps({"reason": "so", "decision": "keep", "confidence": 80})
    return json.dumps({"instruction": f"Read it for point {hash(prompt) % 1_000}."})


def test_documents_become_local_hits(store: DeviceStore, tmp_path: Path, publisher: Publisher) -> None:
    memory = store.memory()
    note = Document("n1", "A note", "I like tea with lemon in the morning, said Ann.", "messages")
    report = memory.ingest([note, "Volcanoes erupt."], config=CONFIG)
    assert (report.documents, report.chunks, report.failed, report.evicted) == (2, 2, 0, 0)
    assert 1 <= report.kept <= report.candidates
    assert report.store_bytes == _n_bytes(tmp_path)
    for each in (memory, _open(tmp_path, publisher).memory()):
        [hit] = [hit for hit in each.query("tea with lemon", 10) if "lemon" in hit.text]
        assert hit.is_local
        assert (hit.title, hit.source) == ("A note", "messages")
        assert {match.origin for match in hit.matches} == {"local"}
        assert TEA in hit.preferences
        for other in each.query("tea with lemon", 10):
            assert other.is_local == (other.text in {note.text, "Volcanoes erupt."})
    # What is signed is what it was.
    assert [each.origin for each in memory.preferences] == ["signed"] * 3


def test_titles_that_cannot_be_written_as_they_are(store: DeviceStore) -> None:
    note = Document("n", "Two\nlines \ud800", "I like tea with lemon.", "from\tsome\ud800where" + "x" * 3_000)
    store.ingest([note], config=CONFIG)
    [hit] = [hit for hit in store.memory().query("lemon", 20) if "lemon" in hit.text]
    assert hit.title == "Two lines \ufffd"
    assert hit.source.startswith("from some\ufffdwhere")


def test_the_same_again_changes_nothing(store: DeviceStore) -> None:
    first = store.ingest(["I like tea with lemon."], config=CONFIG)
    again = store.ingest(["I like tea with lemon."], config=CONFIG)
    assert (again.chunks, again.kept, again.store_bytes) == (0, 0, first.store_bytes)


def test_an_added_preference_rescans_recent_documents(store: DeviceStore) -> None:
    store.ingest(["Owls hunt at night in the woods."], config=CONFIG)
    memory = store.memory()
    assert not any("Owls" in hit.text for hit in memory.query("owls at night", 20))
    store.add_preference("Owls at night in the woods", config=CONFIG)
    [hit] = [hit for hit in memory.query("owls at night", 20) if "Owls" in hit.text]
    assert (hit.is_local, hit.preferences) == (True, ("Owls at night in the woods",))
    assert store.changes().add == ("Owls at night in the woods",)
    store.forget("Owls at night in the woods")
    assert not any("Owls" in hit.text for hit in memory.query("owls at night", 20))


def test_a_forgotten_preference_takes_its_local_entries_along(store: DeviceStore, tmp_path: Path) -> None:
    store.ingest(["More tea, tea with lemon."], config=replace(CONFIG, max_window_bytes=0))
    files = tmp_path / "store" / "files"
    assert any("lemon" in text for text in _decoded(files))
    store.forget(TEA)
    assert not any("lemon" in text for text in _decoded(files))
    assert not any("lemon" in hit.text for hit in store.memory().query("tea", 20))


def _decoded(folder: Path) -> list[str]:
    texts = []
    for path in folder.iterdir():
        try:
            texts.append(repr(shard.decode(path.read_bytes(), "s")))
        except FormatError:
            texts.append(path.read_bytes().decode("utf-8", "replace"))
    return texts


def test_a_version_that_drops_the_preference_takes_them_too(
    store: DeviceStore, tmp_path: Path, publisher: Publisher
) -> None:
    store.ingest(["More tea, tea with lemon."], config=replace(CONFIG, max_window_bytes=0))
    without = {text: entries for text, entries in CONTENT.items() if text != TEA}
    (tmp_path / "given.pdx").write_bytes(publisher.bundle(without, version=2))
    store.apply(tmp_path / "given.pdx")
    assert not any("lemon" in text for text in _decoded(tmp_path / "store" / "files"))


def test_the_budget_holds_at_every_moment(store: DeviceStore, tmp_path: Path) -> None:
    least = _n_bytes(tmp_path)
    config = LocalConfig(tau=-1.0, max_store_bytes=least + 4_000, max_window_bytes=1_500)
    evicted = 0
    for number in range(25):
        text = f"People tell of tea and of trains, number {number}, " + " ".join(f"word{number}{n}" for n in range(30))
        report = store.ingest([text], llm=_keep_all, config=config)
        evicted += report.evicted
        assert _n_bytes(tmp_path) == report.store_bytes <= config.max_store_bytes
    assert evicted > 0
    assert any(hit.is_local for hit in store.memory().query("tea and trains", 50))
    # What is signed gives no way.
    assert len([hit for hit in store.memory().query("tea", 200) if not hit.is_local]) == 4


def test_no_room_beside_what_is_signed(store: DeviceStore, tmp_path: Path) -> None:
    before = _n_bytes(tmp_path)
    report = store.ingest(["I like tea with lemon."], config=replace(CONFIG, max_store_bytes=before))
    assert report.store_bytes == before
    assert report.evicted == report.kept > 0


ENTRIES = st.lists(st.integers(0, 40), min_size=1, max_size=20, unique=True).map(
    lambda numbers: [entry(f"Text {n} of some length", confidence=(n % 11) / 10, similarity=0.5) for n in numbers]
)


@given(st.lists(ENTRIES, min_size=1, max_size=3), st.floats(0, 1.2))
def test_the_least_valuable_go(groups, share: float) -> None:
    held = {}
    for number, entries in enumerate(groups):
        vectors = ENCODER.encode([each.instruction for each in entries])
        vector = ENCODER.encode([f"p{number}"])[0]
        held[str(number)] = evicting.encode(shard.pack(Preference(f"p{number}"), ENCODER.id, entries, vector, vectors))
    total = sum(len(each.data) for each in held.values())
    limit = int(share * total)
    left, evicted = evicting.evict(held, lambda some: limit - sum(len(each.data) for each in some.values()))
    assert sum(len(each.data) for each in left.values()) <= limit
    n_left = sum(len(each.shard.entries) for each in left.values())
    assert n_left + evicted == sum(map(len, groups))
    assert evicted == 0 or share < 1
    if evicted and left:
        values = {
            each_entry.text + tag: value
            for tag, each in held.items()
            for each_entry, value in zip(
                each.shard.entries, ranking.values(each.shard.entries, each.shard.codes[1:]), strict=True
            )
        }
        kept = [values[each_entry.text + tag] for tag, each in left.items() for each_entry in each.shard.entries]
        assert np.mean(kept) >= np.mean(list(values.values())) - 1e-9


def test_rounding_does_not_add_up() -> None:
    """A shard that grows entry by entry keeps the codes that it has."""
    entries = [entry(f"Text {n}") for n in range(30)]
    vector = ENCODER.encode(["p"])[0]
    grown = shard.pack(Preference("p"), ENCODER.id, [], vector, np.zeros((0, ENCODER.dim), np.float32))
    for each in entries:
        grown = shard.extend(grown, [each], ENCODER.encode([each.instruction]))
    assert shard.decode(shard.encode(grown), "s") is not None
    exact = ENCODER.encode([each.instruction for each in grown.entries])
    assert np.abs(grown.vectors - exact).max() <= 2 * grown.step
    at_once = shard.pack(Preference("p"), ENCODER.id, entries, vector, ENCODER.encode([e.instruction for e in entries]))
    assert grown.step == at_once.step
    assert sorted(each.text for each in grown.entries) == sorted(each.text for each in entries)


class TestLanguageModels:
    def test_any_callable(self, store: DeviceStore) -> None:
        report = store.ingest(["I like tea with lemon."], llm=_keep_all, config=CONFIG)
        assert report.kept == report.candidates > 0
        [hit] = [hit for hit in store.memory().query("tea", 20) if hit.is_local]
        assert hit.instructions[0].startswith("Read it for point ")

    def test_a_callable_that_fails_is_counted(self, store: DeviceStore) -> None:
        def fails(prompt: str) -> str:
            raise ZeroDivisionError("secret")

        report = store.ingest(["I like tea with lemon."], llm=fails, config=CONFIG)
        assert (report.kept, report.failed) == (0, report.candidates)
        assert report.failed > 0

    def test_an_engine(self, store: DeviceStore) -> None:
        engine = FakeLLM()
        report = store.ingest(["I like tea with lemon."], llm=engine, config=CONFIG)
        assert engine.n_calls == report.candidates + report.kept

    @pytest.mark.parametrize("uri", ["vllm:x", "openai:ftp://h/v1#m", "openai:http://h/v1", "openai:http://u:p@h/v1#m"])
    def test_no_such_engine(self, uri: str, store: DeviceStore) -> None:
        with pytest.raises(ConfigurationError) as caught:
            store.ingest(["I like tea."], llm=uri, config=CONFIG)
        assert "u:p" not in str(caught.value)

    def test_a_server_that_is_not_there(self) -> None:
        llm = open_llm("openai:http://127.0.0.1:9/v1#m", ENCODER, 0.2)
        prompt = Prompt("judge", None, "s", "u", {}, 5)  # type: ignore[arg-type]
        [error] = llm.complete([prompt])
        assert "cannot be asked" in str(error)


def test_what_cannot_ingest(tmp_path: Path, publisher: Publisher) -> None:
    (tmp_path / "given.pdx").write_bytes(publisher.bundle(CONTENT))
    memory = Memory.open(tmp_path / "given.pdx", trust=publisher.trust, encoder=ENCODER, audience=AUDIENCE)
    with pytest.raises(ConfigurationError, match="memory of a file never changes"):
        memory.ingest(["x"])
    store = DeviceStore.open(tmp_path / "store", trust=publisher.trust, audience=AUDIENCE)
    with pytest.raises(ConfigurationError, match="needs an encoder"):
        store.ingest(["x"])


def test_before_any_version(tmp_path: Path, publisher: Publisher) -> None:
    store = _open(tmp_path, publisher)
    store.add_preference(TEA)
    assert store.ingest(["I like tea with lemon."], config=CONFIG).kept == 1


@given(st.text(st.characters(codec="utf-8"), max_size=50), st.integers(1, 20))
def test_window_chunks_come_back(text: str, dim: int) -> None:
    vector = np.linspace(-1, 1, dim).astype(np.float16)
    held = window.decode(window.encode(WindowChunk(Chunk(text, "t", "s"), vector)))
    assert held.chunk == Chunk(text, "t", "s")
    np.testing.assert_array_equal(held.vector, vector)
