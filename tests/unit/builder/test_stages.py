"""Stages are plain functions; they are called here without Ray."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from prefdex_builder.corpus import SourceFile
from prefdex_builder.engines import LLMConfig, open_llm
from prefdex_builder.engines.metering import Usage
from prefdex_builder.stages import VerifyStage, embed, filter_blocks, read_and_chunk, verify
from prefdex_builder.stages.filter import candidates_table, read_candidates
from prefdex_builder.stages.pack import PackStage, entries_table
from prefdex_builder.stages.read import ReadStage, files_table
from prefdex_builder.stages.verify import Answers, outcomes_of, pairs_table
from prefdex_builder.workspace import Workspace, pair_key
from prefdex_shared import shard as shards
from prefdex_shared.chunking import ChunkConfig
from prefdex_shared.encoder import HashingEncoder
from prefdex_shared.errors import ConfigurationError, EngineError
from prefdex_shared.filtering import FilterConfig, SimilarityJoin
from prefdex_shared.llm import FakeLLM, Prompt, fake_answer
from prefdex_shared.records import Chunk, Pair, Preference, Verdict
from prefdex_shared.vectors import store
from support.bundles import entry

ENCODER = HashingEncoder()
PAIRS = [
    Pair(Chunk(f"Text number {number}.", "Title", "source"), Preference("I like tea"), 0.5) for number in range(40)
]


def test_read_and_chunk(tmp_path: Path) -> None:
    rows = [{"id": "1", "title": "t", "text": "One sentence. " * 200}, {"id": "2", "text": None}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    files = files_table({0: SourceFile("a.jsonl", str(tmp_path / "a.jsonl"))})
    table = read_and_chunk(files, ChunkConfig(), ENCODER.count_tokens)
    assert table.equals(ReadStage("hashing:", ChunkConfig()).load()(files))
    first, second = table.to_pylist()
    assert len(first["chunks"]) == 4
    assert (second["chunks"], second["faults"], second["document_id"]) == ([], ["missing_text"], "2")


def test_filter_skips_dead_chunks_and_merges() -> None:
    blocks = [embed([f"id{n}{at}" for at in range(5)], [f"tea {n} {at}" for at in range(5)], ENCODER) for n in range(3)]
    preferences = store(ENCODER.encode(["tea", "tea 1"]))
    config = FilterConfig(tau=-1)
    whole = filter_blocks(blocks, SimilarityJoin(preferences, config)).lists(2)
    assert [len(each) for each in whole] == [15, 15]
    dead = np.array(["id00", "id24"], dtype="S")
    living = filter_blocks(blocks, SimilarityJoin(preferences, config), dead).lists(2)
    assert {each.chunk_id for each in whole[0]} - {each.chunk_id for each in living[0]} == {"id00", "id24"}
    merged = SimilarityJoin(preferences, config)
    for block in reversed(blocks):
        part = filter_blocks([block], SimilarityJoin(preferences, config))
        merged.hold(read_candidates(candidates_table(part)))
    assert merged.candidates().lists(2) == whole


def test_verify_judges_and_writes() -> None:
    outcomes, new = verify(PAIRS, FakeLLM(), Answers())
    kept = [outcome for outcome in outcomes if outcome.instruction]
    assert 0 < len(kept) < len(PAIRS)
    assert all(outcome.verdict.keep == (outcome.instruction is not None) for outcome in outcomes)
    assert len(new.verdicts) == len(PAIRS)
    assert len(new.instructions) == len(kept)


def test_what_was_answered_is_not_asked_again() -> None:
    _, known = verify(PAIRS, FakeLLM(), Answers())
    # An engine that would now answer otherwise changes nothing (the kind of vllm 5898).
    changed = FakeLLM(lambda prompt: json.dumps({"reason": "", "decision": "discard", "confidence": 0}))
    outcomes, new = verify(PAIRS, changed, known)
    assert changed.n_calls == 0
    assert not new.verdicts
    assert [outcome.verdict for outcome in outcomes] == [known.verdicts[pair_key(pair)] for pair in PAIRS]


def test_a_failed_instruction_keeps_its_verdict() -> None:
    def answer(prompt: Prompt) -> str:
        if prompt.task == "write" and "number 7." in prompt.pair.chunk.text:
            raise EngineError("out of memory", retryable=True)
        return fake_answer(prompt) if prompt.task == "write" else '{"reason": "", "decision": "keep", "confidence": 50}'

    outcomes, new = verify(PAIRS, FakeLLM(answer), Answers())
    [failed] = [outcome for outcome in outcomes if outcome.failure]
    assert failed.verdict == Verdict(True, "", 0.5)
    assert failed.instruction is None
    assert (failed.failure.stage, failed.failure.reason) == ("write", "out of memory")
    again, _ = verify(PAIRS, llm := FakeLLM(), Answers(new.verdicts, new.instructions))
    assert llm.n_calls == 1
    assert all(outcome.instruction for outcome in again)


def test_the_stage_stores_its_answers(tmp_path: Path) -> None:
    answers = Workspace.at(tmp_path).verdicts("j", "w")
    stage = VerifyStage("hashing:", LLMConfig("fake:", pairs_at_once=7), 0.25, answers)
    outcomes = outcomes_of(stage.load()(pairs_table(PAIRS, Answers())))
    stored = answers.load()
    assert set(stored.verdicts) == set(outcomes) == {pair_key(pair) for pair in PAIRS}
    assert {key: outcome.instruction for key, outcome in outcomes.items() if outcome.instruction} == stored.instructions
    usage = sum((outcome.usage for outcome in outcomes.values()), Usage())
    assert usage.calls == len(PAIRS) + len(stored.instructions)
    assert usage.prompt_tokens > 50 * usage.calls
    assert usage.output_tokens > 5 * usage.calls
    # A few pairs at a time; and a worker that is asked the same again, as Ray does after one has died, asks nobody.
    assert len(list((tmp_path / "verdicts/j").iterdir())) == 6
    again = outcomes_of(stage.load()(pairs_table(PAIRS, Answers())))
    assert {key: replace(outcome, usage=Usage()) for key, outcome in outcomes.items()} == again
    # Verdicts that are known leave the instructions to be asked for.
    other = replace(stage, answers=Workspace.at(tmp_path).verdicts("j2", "w2"))
    written = outcomes_of(other.load()(pairs_table(PAIRS, Answers(stored.verdicts))))
    assert sum(outcome.usage.calls for outcome in written.values()) == len(stored.instructions)


def test_pack_stores_shards(tmp_path: Path) -> None:
    index = Workspace.at(tmp_path).shards
    call = PackStage("hashing:", index).load()
    for preference, entries in ((Preference("I like tea"), [entry("a"), entry("b")]), (Preference("empty"), [])):
        [row] = call(entries_table(preference, entries)).to_pylist()
        decoded = shards.decode(index.get(row["sha256"]), "shard")
        assert decoded.preference == preference
        assert {each.text for each in decoded.entries} == {each.text for each in entries}


@pytest.mark.parametrize("uri", ["", "gpt", "extractive:x", "llamacpp:", "fake:x", "openai"])
def test_an_unknown_engine(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="There is no LLM engine"):
        open_llm(LLMConfig(uri), encoder=ENCODER, tau=0.25)


def test_a_missing_model_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no model file"):
        open_llm(LLMConfig(f"llamacpp:{tmp_path / 'x.gguf'}"), encoder=ENCODER, tau=0.25)


def test_embed_is_float16_and_one_text_at_a_time() -> None:
    alone = embed(["b"], ["tea b"], ENCODER)["embedding"].to_pylist()
    table: pa.Table = embed(["a", "b"], ["tea a", "tea b"], ENCODER)
    assert table["embedding"].type == pa.list_(pa.float16(), ENCODER.dim)
    np.testing.assert_array_equal(table["embedding"].to_pylist()[1:], alone)
