"""`build`: filter -> judge -> write -> pack -> trim -> sign, for all users at once (paper, figure 2).

Work is done per distinct preference, never per user, and only where the workspace lacks the result. What is finished
is stored at once, so that a build that was killed goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from prefdex_shared.encoder import Encoder, open_encoder
from prefdex_shared.errors import BuildError
from prefdex_shared.ids import PreferenceId, ShardKey
from prefdex_shared.records import Pair, Preference

from .bundling import Bundler
from .cluster import Session
from .config import BuildConfig
from .engines import open_llm
from .joining import Joiner
from .preferences import User, distinct
from .progress import Progress, Stopwatch
from .report import BuildReport
from .reporting import REPORT_FILE, Summary, render, summarize
from .signing import BundleSigner
from .stages import PackStage, TrimStage
from .stages.pack import entries_id, entries_table
from .state import State, is_whole
from .tally import Tally
from .verifying import Verifier, make_pairs
from .workspace import Failure, ShardRecord, Workspace, pair_key


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
        ConfigurationError: There is no corpus, settings do not fit it, or another build works on the workspace.
        BuildError: Too many pairs failed; no bundle was written.
    """
    with workspace.locked() as lease:
        watch = Stopwatch(progress, lease.check)
        return _Run(workspace, encoder, open_encoder(encoder), config or BuildConfig(), session, watch).all(
            users, signer
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
        self.llm_name = open_llm(config.llm, encoder=encoder, tau=config.filtering.tau).name
        self.state = State.of(workspace, encoder, self.llm_name)

    def all(self, users: Sequence[User], signer: BundleSigner) -> BuildReport:
        preferences = distinct(users)
        shards, keys = self.workspace.shards, {each.id: self.state.key(each, self.config) for each in preferences}
        missing = [each for each in preferences if not is_whole(shards.find(keys[each.id]))]
        tally = self._make(missing, keys)
        records = {each.id: _record(self.workspace, keys[each.id]) for each in preferences}
        bundler = Bundler(self.workspace, signer, self.encoder.id, self.llm_name, self.config)
        held = [(user, [records[preference.id] for preference in user.preferences]) for user in users]
        self._trim({record.sha256 for user, own in held if bundler.needs_trimming(user, own) for record in own})
        reports = []
        with self.watch.stage("sign", len(users)) as advance:
            for user, own in held:
                reports.append(bundler.give(user, own))
                advance(1)
        usage, counted = tally.usage, list(records.values())
        report = BuildReport(
            llm=self.llm_name,
            documents=self.state.n_documents,
            chunks=len(self.state.live),
            preferences=len(preferences),
            shards_built=len(missing),
            llm_calls=usage.calls,
            prompt_tokens=usage.prompt_tokens,
            output_tokens=usage.output_tokens,
            cost=self.config.price.of(usage.prompt_tokens, usage.output_tokens),
            candidates=sum(record.n_candidates for record in counted),
            kept=sum(record.n_kept for record in counted),
            discarded=sum(record.n_discarded for record in counted),
            failed=dict(tally.failed),
            entries=sum(record.n_entries for record in counted),
            users=tuple(reports),
            page=self.workspace.storage.location(REPORT_FILE),
            seconds=self.watch.seconds,
        )
        if missing or any(each.is_new for each in reports):
            self._write_page(report, {keys[each.id]: records[each.id] for each in preferences})
        return report

    def _write_page(self, report: BuildReport, records: Mapping[ShardKey, ShardRecord]) -> None:
        held = [(self.workspace.shards.summary(key), record) for key, record in records.items()]
        shards = [(Summary.from_json(fields), record) for fields, record in held if fields]
        page = render(report, shards, self.config)
        self.workspace.storage.write(REPORT_FILE, page.encode())

    def _make(self, preferences: Sequence[Preference], keys: Mapping[PreferenceId, ShardKey]) -> Tally:
        """Make the shards of some preferences."""
        whole = Tally()
        if not preferences:
            return whole
        joiner = Joiner(self.workspace, self.state, self.encoder, self.config, self.session, self.watch)
        pairs = make_pairs(self.workspace, self.state, joiner.find(preferences))
        verifier = Verifier(self.workspace, self.state, self._encoder_location, self.config, self.session, self.watch)
        outcomes = verifier.outcomes([pair for each in pairs.values() for pair in each])
        tallies = {preference: Tally() for preference in pairs}
        failures = []
        for preference, each in pairs.items():
            decided = [(pair, outcomes[pair_key(pair)]) for pair in each]
            for pair, outcome in decided:
                tallies[preference].add(pair, outcome)
                whole.add(pair, outcome)
                if outcome.failure:
                    failures.append(_failure(pair, outcome.failure.stage, outcome.failure.reason))
            self.workspace.shards.record_summary(keys[preference.id], summarize(preference, decided).to_json())
        self.workspace.failures.replace(failures, {preference.id for preference in preferences})
        self._check_failures(whole)
        self._pack(keys, tallies)
        return whole

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
        """Pack what has other entries than any shard before."""
        shards = self.workspace.shards
        ids = {each: entries_id(each, tally.entries, self.encoder.id) for each, tally in tallies.items()}
        packed = {each: shard for each, entries in ids.items() if (shard := shards.packed(entries))}
        batches = [entries_table(each, tally.entries) for each, tally in tallies.items() if each not in packed]
        with self.watch.stage("pack", len(batches)) as advance:
            for table in self.session.run(PackStage(self._encoder_location, shards), batches):
                for row in table.to_pylist():
                    preference = Preference(row["preference"])
                    packed[preference] = row["sha256"], row["n_bytes"]
                    shards.record_packed(ids[preference], *packed[preference])
                    advance(1)
        for preference, tally in tallies.items():
            shards.record(keys[preference.id], tally.record(*packed[preference]))

    def _trim(self, wanted: Iterable[str]) -> None:
        """Make the rungs of whole shards, by hash, where they are not there."""
        missing = sorted(sha256 for sha256 in wanted if self.workspace.shards.ladder(sha256) is None)
        if not missing:
            return
        batches = [pa.table({"sha256": [sha256]}) for sha256 in missing]
        with self.watch.stage("trim", len(batches)) as advance:
            for table in self.session.run(TrimStage(self.workspace.shards), batches):
                advance(len(table))


def _failure(pair: Pair, stage: str, reason: str) -> Failure:
    return Failure(pair.preference.id, pair.chunk.id, stage, reason)


def _record(workspace: Workspace, key: ShardKey) -> ShardRecord:
    record = workspace.shards.find(key)
    if record is None:
        raise BuildError(
            "A shard that was just built is not in the workspace.", hint="Is something else deleting files?"
        )
    return record
