"""judge and write: candidate pairs -> verdicts, and instructions for those that are kept.

Both are asked of the same engine in one stage, so that a model is loaded once per worker. What was answered before is
not asked again, and what is answered now is stored, a few pairs at a time, before anything else happens to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from prefdex_shared.encoder import open_encoder
from prefdex_shared.judging import judge
from prefdex_shared.llm import LLM
from prefdex_shared.records import Chunk, Failure, Pair, Preference, Verdict
from prefdex_shared.writing import write

from ..cluster.stage import ONE_CPU, Call, Resources
from ..engines import LLMConfig, open_llm
from ..engines.metering import MeteredLLM, Usage
from ..workspace import Answers, VerdictStore, pair_key

PAIRS = pa.schema(
    [
        ("preference", pa.string()),
        ("text", pa.string()),
        ("title", pa.string()),
        ("source", pa.string()),
        ("similarity", pa.float64()),
        ("keep", pa.bool_()),
        ("reason", pa.string()),
        ("confidence", pa.float64()),
    ]
)
"""A pair, with its verdict where there is one."""

_USAGE = ("calls", "prompt_tokens", "output_tokens")
_OUTCOMES = pa.schema(
    [
        ("pair_key", pa.string()),
        ("keep", pa.bool_()),
        ("reason", pa.string()),
        ("confidence", pa.float64()),
        ("instruction", pa.string()),
        ("failed_stage", pa.string()),
        ("failed_reason", pa.string()),
        *((name, pa.int64()) for name in _USAGE),
    ]
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one pair: a verdict and an instruction, a verdict to discard, or a failure.

    Attributes:
        verdict: None where judging failed.
        instruction: None where the pair is not kept, or writing failed.
        failure: What failed, if anything did.
        usage: What it took.
    """

    verdict: Verdict | None
    instruction: str | None = None
    failure: Failure | None = None
    usage: Usage = field(default_factory=Usage)


def verify(pairs: Sequence[Pair], llm: LLM, known: Answers) -> tuple[list[Outcome], Answers]:
    """Judge pairs, and write the instructions of those that are kept.

    Args:
        pairs: Candidates.
        llm: The engine.
        known: What was answered before.

    Returns:
        An outcome per pair, in order, without its usage; and the answers that are new.
    """
    keys = [pair_key(pair) for pair in pairs]
    new = Answers()
    failures: dict[str, Failure] = {}

    to_judge = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known.verdicts}
    for key, verdict in zip(to_judge, judge(list(to_judge.values()), llm), strict=True):
        if isinstance(verdict, Failure):
            failures[key] = verdict
        else:
            new.verdicts[key] = verdict
    verdicts = known.verdicts | new.verdicts

    kept = {key: pair for key, pair in zip(keys, pairs, strict=True) if key in verdicts and verdicts[key].keep}
    to_write = {key: pair for key, pair in kept.items() if key not in known.instructions}
    for key, instruction in zip(to_write, write(list(to_write.values()), llm), strict=True):
        if isinstance(instruction, Failure):
            failures[key] = instruction
        else:
            new.instructions[key] = instruction
    instructions = known.instructions | new.instructions
    return [Outcome(verdicts.get(key), instructions.get(key), failures.get(key)) for key in keys], new


def pairs_table(pairs: Sequence[Pair], known: Answers) -> pa.Table:
    """Return pairs, with what is known of them, as a batch."""
    rows = []
    for pair in pairs:
        verdict = known.verdicts.get(pair_key(pair))
        rows.append(
            {
                "preference": pair.preference.text,
                "text": pair.chunk.text,
                "title": pair.chunk.title,
                "source": pair.chunk.source,
                "similarity": pair.similarity,
                "keep": verdict.keep if verdict else None,
                "reason": verdict.reason if verdict else None,
                "confidence": verdict.confidence if verdict else None,
            }
        )
    return pa.Table.from_pylist(rows, schema=PAIRS)


def outcomes_of(table: pa.Table) -> dict[str, Outcome]:
    """Return the outcomes of a batch by pair key."""
    return {row["pair_key"]: _outcome(row) for row in table.to_pylist()}


@dataclass(frozen=True, slots=True)
class VerifyStage:
    """Judges and writes on a worker, and stores the answers.

    Attributes:
        encoder: Location of the encoder, for engines that work on embeddings, and to count tokens.
        llm: The engine.
        tau: The coarse filter's threshold.
        answers: Where answers are stored.
    """

    encoder: str
    llm: LLMConfig
    tau: float
    answers: VerdictStore
    name: str = "verify"
    resources: Resources = ONE_CPU

    def load(self) -> Call:
        """Open the engine."""
        encoder = open_encoder(self.encoder)
        llm = MeteredLLM(open_llm(self.llm, encoder=encoder, tau=self.tau), encoder.count_tokens)

        def call(batch: pa.Table) -> pa.Table:
            pairs, known = _read_batch(batch)
            size = self.llm.pairs_at_once
            tables = [self._few(pairs[at : at + size], llm, known) for at in range(0, len(pairs), size)]
            return pa.concat_tables(tables)

        return call

    def _few(self, pairs: Sequence[Pair], llm: MeteredLLM, known: Answers) -> pa.Table:
        asked = [pair_key(pair) for pair in pairs]
        # A worker that died here may have stored its answers: Ray then asks another one.
        outcomes, new = verify(pairs, llm, known | self.answers.load_batch(asked))
        self.answers.save(asked, new)
        usage, llm.usage = llm.usage, {}
        return _outcomes_table(pairs, outcomes, [usage.get(pair, Usage()) for pair in pairs])


def _read_batch(batch: pa.Table) -> tuple[list[Pair], Answers]:
    pairs, known = [], Answers()
    for row in batch.to_pylist():
        pair = Pair(Chunk(row["text"], row["title"], row["source"]), Preference(row["preference"]), row["similarity"])
        pairs.append(pair)
        if row["keep"] is not None:
            known.verdicts[pair_key(pair)] = Verdict(row["keep"], row["reason"], row["confidence"])
    return pairs, known


def _outcomes_table(pairs: Sequence[Pair], outcomes: Sequence[Outcome], usages: Sequence[Usage]) -> pa.Table:
    rows = [
        {
            "pair_key": pair_key(pair),
            "keep": outcome.verdict.keep if outcome.verdict else None,
            "reason": outcome.verdict.reason if outcome.verdict else None,
            "confidence": outcome.verdict.confidence if outcome.verdict else None,
            "instruction": outcome.instruction,
            "failed_stage": outcome.failure.stage if outcome.failure else None,
            "failed_reason": outcome.failure.reason if outcome.failure else None,
            **{name: getattr(usage, name) for name in _USAGE},
        }
        for pair, outcome, usage in zip(pairs, outcomes, usages, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=_OUTCOMES)


def _outcome(row: dict[str, Any]) -> Outcome:
    is_judged, is_failed = row["keep"] is not None, row["failed_stage"] is not None
    return Outcome(
        Verdict(row["keep"], row["reason"], row["confidence"]) if is_judged else None,
        row["instruction"],
        Failure(row["failed_stage"], row["failed_reason"]) if is_failed else None,
        Usage(*(row[name] for name in _USAGE)),
    )
