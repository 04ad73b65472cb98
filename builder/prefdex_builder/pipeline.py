"""`build`: filter -> judge -> write -> pack -> trim -> sign, for all users at once (paper, figure 2).

Work is done per distinct preference, never per user, and only where the workspace lacks the result. What is finished
is stored at once, so that a build that was killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from prefdex_shared.candidates import Candidate
from prefdex_shared.encoder import Encoder, open_encoder
from prefdex_shared.errors import BuildError
from prefdex_shared.filtering import SimilarityJoin
from prefdex_shared.ids import PreferenceId, ShardKey
from prefdex_shared.judging import judge_id
from prefdex_shared.records import Chunk, Pair, Preference
from prefdex_shared.vectors import store
from prefdex_shared.writing import writer_id

from .bundling import Bundler
from .cluster import Session
from .config import BuildConfig
from .engines import open_llm
from .preferences import User
from .progress import Progress, Stopwatch
from .report import BuildReport
from .signing import BundleSigner
from .stages import FilterStage, PackStage, TrimStage, VerifyStage
from .stages.filter import read_candidates
from .stages.pack import entries_table
from .stages.verify import Answers, Outcome, outcomes_of, pairs_table
from .tally import Tally
from .workspace import LiveChunk, ShardRecord, Snapshot, VerdictStore, Workspace, pair_key, shard_key
from .workspace.corpus import content_id

_BLOCKS_PER_CALL = 8
_PAIRS_PER_CALL = 32


def build(
    workspace: Workspace,
    users: Sequence[User],
    *,
    encoder: str,
    signer: BundleSigner,
    session: Session,
    progress: Progress,
    config: BuildConfig | None = None,
) -> BuildReport:
    """Build what is missing, and give each user a bundle.

    Args:
        workspace: Holds a corpus.
        users: Whom to build for.
        encoder: Location of the encoder that embedded the corpus.
        signer: Signs the bundles.
        session: Where stages run.
        progress: Shows how far it is.
        config: Settings.

    Raises:
        ConfigurationError: There is no corpus, or settings do not fit it.
        BuildError: Too many pairs failed; no bundle was written.
    """
    run = _Run(workspace, encoder, open_encoder(encoder), config or BuildConfig(), session, Stopwatch(progress))
    preferences = list({preference.id: preference for user in users for preference in user.preferences}.values())
    keys = {preference.id: run.key(preference) for preference in preferences}
    missing = [preference for preference in preferences if not _is_whole(workspace.shards.find(keys[preference.id]))]
    tally = run.make(missing, keys)
    records = {preference.id: _record(workspace, keys[preference.id]) for preference in preferences}
    bundler = Bundler(workspace, signer, run.encoder.id, run.llm_name, run.config)
    held = [(user, [records[preference.id] for preference in user.preferences]) for user in users]
    run.trim({record.sha256 for user, own in held if bundler.needs_trimming(user, own) for record in own})
    with run.watch.stage("sign", len(users)) as advance:
        reports = []
        for user, own in held:
            reports.append(bundler.give(user, own))
            advance(1)
    return BuildReport(
        llm=run.llm_name,
        chunks=len(run.live),
        preferences=len(preferences),
        shards_built=len(missing),
        llm_calls=tally.llm_calls,
        candidates=sum(record.n_candidates for record in records.values()),
        kept=sum(record.n_kept for record in records.values()),
        discarded=sum(record.n_discarded for record in records.values()),
        failed=dict(tally.failed),
        entries=sum(record.n_entries for record in records.values()),
        users=tuple(reports),
        seconds=run.watch.seconds,
    )


class _Run:
    """One build: the workspace's state at its start, and the stages in their order."""

    def __init__(
        self,
        workspace: Workspace,
        encoder_location: str,
        encoder: Encoder,
        config: BuildConfig,
        session: Session,
        watch: Stopwatch,
    ) -> None:
        self.workspace, self.encoder, self.config, self.session, self.watch = workspace, encoder, config, session, watch
        self._encoder_location = encoder_location
        self.snapshot: Snapshot = workspace.corpus.check(encoder.id)
        self.live: Mapping[str, LiveChunk] = workspace.corpus.live(self.snapshot)
        self.llm_name = open_llm(config.llm, encoder=encoder, tau=config.filtering.tau).name
        self._judge, self._writer = judge_id(self.llm_name), writer_id(self.llm_name)
        self._content = content_id(self.snapshot, dict(self.live))

    @property
    def answers(self) -> VerdictStore:
        return self.workspace.verdicts(self._judge, self._writer)

    def key(self, preference: Preference) -> ShardKey:
        return shard_key(
            preference,
            snapshot=self._content,
            encoder=self.encoder.id,
            filtering=self.config.filtering,
            judge=self._judge,
            writer=self._writer,
        )

    def make(self, preferences: Sequence[Preference], keys: Mapping[PreferenceId, ShardKey]) -> Tally:
        """Make the shards of some preferences."""
        tally = Tally()
        if not preferences:
            return tally
        pairs = self._pairs(preferences, self._filter(preferences))
        outcomes = self._verify(pairs)
        by_preference = {preference: Tally() for preference in preferences}
        for pair in pairs:
            outcome = outcomes[pair_key(pair)]
            tally.add(pair, outcome)
            by_preference[pair.preference].add(pair, outcome)
        self._check_failures(tally)
        self._pack(keys, by_preference)
        return tally

    def _filter(self, preferences: Sequence[Preference]) -> list[list[Candidate]]:
        # One at a time, as everywhere: a text has one vector.
        vectors = store(self.encoder.encode([preference.text for preference in preferences]))
        known = self.workspace.corpus.known_chunks(self.snapshot)
        dead = np.array(sorted(known.difference(self.live)), dtype=np.bytes_)
        names = self.snapshot.blocks
        batches = [
            pa.table({"block": names[at : at + _BLOCKS_PER_CALL]}) for at in range(0, len(names), _BLOCKS_PER_CALL)
        ]
        stage = FilterStage(self.workspace, vectors, self.config.filtering, dead, self.config.filter_engine)
        join = SimilarityJoin(vectors, self.config.filtering)
        with self.watch.stage("filter", len(batches)) as advance:
            for table in self.session.run(stage, batches):
                join.hold(read_candidates(table))
                advance(1)
        return join.candidates().lists(len(preferences))

    def _pairs(self, preferences: Sequence[Preference], candidates: Sequence[Sequence[Candidate]]) -> list[Pair]:
        wanted = {candidate.chunk_id for each in candidates for candidate in each}
        texts = self.workspace.corpus.texts(self.snapshot, wanted)
        return [
            Pair(self._chunk(candidate.chunk_id, texts), preference, candidate.similarity)
            for preference, each in zip(preferences, candidates, strict=True)
            for candidate in each
        ]

    def _chunk(self, key: str, texts: Mapping[str, str]) -> Chunk:
        return Chunk(texts[key], self.live[key].title, self.live[key].source)

    def _verify(self, pairs: Sequence[Pair]) -> dict[str, Outcome]:
        known = Answers(*self.answers.load())
        outcomes = {key: outcome for pair in pairs if (outcome := _known_outcome(key := pair_key(pair), known))}
        open_pairs = [pair for pair in pairs if pair_key(pair) not in outcomes]
        batches = [
            pairs_table(open_pairs[at : at + _PAIRS_PER_CALL], known)
            for at in range(0, len(open_pairs), _PAIRS_PER_CALL)
        ]
        stage = VerifyStage(self._encoder_location, self.config.llm, self.config.filtering.tau, self.answers)
        with self.watch.stage("verify", len(pairs)) as advance:
            advance(len(outcomes))
            for table in self.session.run(stage, batches):
                outcomes.update(outcomes_of(table))
                advance(len(table))
        return outcomes

    def trim(self, wanted: Iterable[str]) -> None:
        """Make the rungs of whole shards, by hash, where they are not there."""
        missing = sorted(sha256 for sha256 in wanted if self.workspace.shards.ladder(sha256) is None)
        if not missing:
            return
        batches = [pa.table({"sha256": [sha256]}) for sha256 in missing]
        with self.watch.stage("trim", len(batches)) as advance:
            for table in self.session.run(TrimStage(self.workspace.shards), batches):
                advance(len(table))

    def _check_failures(self, tally: Tally) -> None:
        n_failed = tally.failed.total()
        if n_failed > self.config.max_failed_share * tally.candidates:
            reason, count = tally.failed.most_common(1)[0]
            raise BuildError(
                f"{n_failed} of {tally.candidates} pairs failed, over the allowed share of "
                f"{self.config.max_failed_share:.0%}; {count} times: {reason}. No bundle was written.",
                hint="Mend the cause and build again: what was answered is kept.",
            )

    def _pack(self, keys: Mapping[PreferenceId, ShardKey], tallies: Mapping[Preference, Tally]) -> None:
        batches = [entries_table(preference, tally.entries) for preference, tally in tallies.items()]
        stage = PackStage(self._encoder_location, self.workspace.shards)
        with self.watch.stage("pack", len(batches)) as advance:
            for table in self.session.run(stage, batches):
                for row in table.to_pylist():
                    preference = Preference(row["preference"])
                    record = tallies[preference].record(row["sha256"], row["n_bytes"])
                    self.workspace.shards.record(keys[preference.id], record)
                    advance(1)


def _is_whole(record: ShardRecord | None) -> bool:
    return record is not None and record.n_failed == 0


def _record(workspace: Workspace, key: ShardKey) -> ShardRecord:
    record = workspace.shards.find(key)
    if record is None:
        raise BuildError(
            "A shard that was just built is not in the workspace.", hint="Is something else deleting files?"
        )
    return record


def _known_outcome(key: str, known: Answers) -> Outcome | None:
    """Return the outcome of a pair about which nothing needs to be asked."""
    verdict = known.verdicts.get(key)
    if verdict is None or (verdict.keep and key not in known.instructions):
        return None
    return Outcome(verdict, known.instructions.get(key) if verdict.keep else None)
