"""The outcome of each candidate pair: what is known of it, and what is asked now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prefdex_shared.candidates import Candidate
from prefdex_shared.records import Chunk, Pair, Preference

from .cluster import Session
from .config import BuildConfig
from .progress import Stopwatch
from .stages import VerifyStage
from .stages.verify import Outcome, outcomes_of, pairs_table
from .state import State
from .workspace import Answers, Workspace, pair_key

_PAIRS_PER_CALL = 32


def make_pairs(
    workspace: Workspace, state: State, found: Mapping[Preference, Sequence[Candidate]]
) -> dict[Preference, list[Pair]]:
    """Return candidates with their texts."""
    wanted = {candidate.chunk_id for each in found.values() for candidate in each}
    texts = workspace.corpus.texts(state.snapshot, wanted)

    def chunk(key: str) -> Chunk:
        return Chunk(texts[key], state.live[key].title, state.live[key].source)

    return {
        preference: [Pair(chunk(each.chunk_id), preference, each.similarity) for each in candidates]
        for preference, candidates in found.items()
    }


@dataclass(frozen=True, slots=True)
class Verifier:
    """Asks what is not known.

    Attributes:
        workspace: Holds the answers.
        state: Says which judge and which writer.
        encoder: Location of the encoder, for workers.
        config: Settings.
        session: Where the stage runs.
        watch: Shows how far it is.
    """

    workspace: Workspace
    state: State
    encoder: str
    config: BuildConfig
    session: Session
    watch: Stopwatch

    def outcomes(self, pairs: Sequence[Pair]) -> dict[str, Outcome]:
        """Return the outcome of each pair by pair key."""
        answers = self.state.answers(self.workspace)
        known = answers.load()
        outcomes = {key: outcome for pair in pairs if (outcome := known_outcome(key := pair_key(pair), known))}
        open_pairs = [pair for pair in pairs if pair_key(pair) not in outcomes]
        batches = [
            pairs_table(open_pairs[at : at + _PAIRS_PER_CALL], known)
            for at in range(0, len(open_pairs), _PAIRS_PER_CALL)
        ]
        stage = VerifyStage(self.encoder, self.config.llm, self.config.filtering.tau, answers)
        with self.watch.stage("verify", len(pairs)) as advance:
            advance(len(outcomes))
            for table in self.session.run(stage, batches):
                outcomes.update(outcomes_of(table))
                advance(len(table))
        answers.compact()
        return outcomes


def known_outcome(key: str, known: Answers) -> Outcome | None:
    """Return the outcome of a pair about which nothing needs to be asked."""
    verdict = known.verdicts.get(key)
    if verdict is None or (verdict.keep and key not in known.instructions):
        return None
    return Outcome(verdict, known.instructions.get(key) if verdict.keep else None)
