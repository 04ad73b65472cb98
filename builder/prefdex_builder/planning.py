"""`plan`: what a build would do, before it does it. The coarse filter runs, and its results are kept for the build."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prefdex_shared.encoder import Encoder, open_encoder
from prefdex_shared.judging import judge
from prefdex_shared.llm import FakeLLM
from prefdex_shared.records import Pair, Preference
from prefdex_shared.writing import write

from .cluster import Session
from .config import BuildConfig
from .engines import open_llm
from .engines.metering import MeteredLLM, Usage
from .joining import Joiner
from .preferences import User, distinct
from .progress import Progress, Stopwatch
from .report import PlanReport, PreferencePlan, UserPlan
from .state import State, is_whole
from .verifying import known_outcome, make_pairs
from .workspace import Answers, ShardRecord, Workspace, pair_key

_SAMPLE = 64
"""Pairs whose tokens are counted, and shards whose bytes are; the others are taken to be alike."""

_BYTES_PER_ENTRY, _BYTES_PER_SHARD = 450, 600
"""What an entry and an empty shard take, about (docs/BENCHMARKS.md), where no shard is there to ask."""


@dataclass(frozen=True, slots=True)
class _Open:
    """What is left to do for one preference.

    Attributes:
        pairs: Its candidates.
        to_judge: Those without a verdict.
        to_write: Those that are kept, and have no instruction.
    """

    pairs: Sequence[Pair]
    to_judge: Sequence[Pair]
    to_write: Sequence[Pair]


def plan(
    workspace: Workspace,
    users: Sequence[User],
    *,
    encoder: str,
    session: Session,
    progress: Progress,
    config: BuildConfig | None = None,
) -> PlanReport:
    """Find out what a build would do.

    Args:
        workspace: Holds a corpus.
        users: Whom to build for.
        encoder: Location of the encoder that embedded the corpus.
        session: Where stages run.
        progress: Shows how far it is.
        config: Settings.

    Raises:
        ConfigurationError: There is no corpus, settings do not fit it, or another build works on the workspace.
    """
    config = config or BuildConfig()
    loaded = open_encoder(encoder)
    with workspace.locked() as lease:
        watch = Stopwatch(progress, lease.check)
        llm = open_llm(config.llm, encoder=loaded, tau=config.filtering.tau).name
        state = State.of(workspace, loaded, llm)
        preferences = distinct(users)
        records = {each: workspace.shards.find(state.key(each, config)) for each in preferences}
        missing = [each for each, record in records.items() if not is_whole(record)]
        joiner = Joiner(workspace, state, loaded, config, session, watch)
        pairs = make_pairs(workspace, state, joiner.find(missing)) if missing else {}
        known = state.answers(workspace).load()
    work = {preference: _open(each, known) for preference, each in pairs.items()}
    keep_rate = _keep_rate(known)
    usage = _expected(list(work.values()), keep_rate, loaded)
    to_judge, to_write = (sum(len(getattr(each, name)) for each in work.values()) for name in _Open.__slots__[1:])
    bytes_per_entry = _bytes_per_entry(workspace.shards.some(_SAMPLE))
    plans = {
        each: _preference_plan(each, records[each], work.get(each), keep_rate, bytes_per_entry) for each in preferences
    }
    return PlanReport(
        llm=llm,
        documents=state.n_documents,
        chunks=len(state.live),
        preferences=len(preferences),
        shards_missing=len(missing),
        candidates=sum(len(each) for each in pairs.values()),
        pairs_to_judge=to_judge,
        llm_calls=usage.calls,
        llm_calls_at_most=2 * to_judge + to_write,
        prompt_tokens=usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        cost=config.price.of(usage.prompt_tokens, usage.output_tokens),
        users=tuple(_user_plan(user, plans, config.max_bundle_bytes) for user in users),
        seconds=watch.seconds,
    )


def _open(pairs: Sequence[Pair], known: Answers) -> _Open:
    unknown = [pair for pair in pairs if known_outcome(pair_key(pair), known) is None]
    to_judge = [pair for pair in unknown if pair_key(pair) not in known.verdicts]
    to_write = [pair for pair in unknown if pair_key(pair) in known.verdicts]
    return _Open(pairs, to_judge, to_write)


def _keep_rate(known: Answers) -> float:
    """Return the share of pairs that this judge has kept so far; all, where it has judged none."""
    if not known.verdicts:
        return 1.0
    return sum(verdict.keep for verdict in known.verdicts.values()) / len(known.verdicts)


def _expected(work: Sequence[_Open], keep_rate: float, encoder: Encoder) -> Usage:
    """Return what the engine is expected to be asked, and to say."""
    to_judge = [pair for each in work for pair in each.to_judge]
    to_write = [pair for each in work for pair in each.to_write]
    n_write = len(to_write) + round(keep_rate * len(to_judge))
    total = Usage()
    for pairs, n, ask in ((to_judge, len(to_judge), judge), (to_write + to_judge, n_write, write)):
        sample = pairs[:: max(len(pairs) // _SAMPLE, 1)][:_SAMPLE]
        if not sample:
            continue
        # The prompts are those of the build; the answers are some of about the length that is asked for.
        meter = MeteredLLM(FakeLLM(), encoder.count_tokens)
        ask(sample, meter)
        asked = sum(meter.usage.values(), Usage())
        total += Usage(n, asked.prompt_tokens * n // len(sample), asked.output_tokens * n // len(sample))
    return total


def _bytes_per_entry(records: Sequence[ShardRecord]) -> float:
    held = [record for record in records if record.n_entries]
    if not held:
        return _BYTES_PER_ENTRY
    return sum(record.n_bytes - _BYTES_PER_SHARD for record in held) / sum(record.n_entries for record in held)


def _preference_plan(
    preference: Preference, record: ShardRecord | None, work: _Open | None, keep_rate: float, bytes_per_entry: float
) -> PreferencePlan:
    if work is None:
        assert record is not None  # noqa: S101 - what is not missing is there
        return PreferencePlan(preference.text, False, record.n_candidates, 0, record.n_bytes)
    n_kept = len(work.pairs) - len(work.to_judge) + keep_rate * len(work.to_judge)
    expected = round(_BYTES_PER_SHARD + bytes_per_entry * n_kept)
    return PreferencePlan(preference.text, True, len(work.pairs), len(work.to_judge), expected)


def _user_plan(user: User, plans: dict[Preference, PreferencePlan], max_bytes: int | None) -> UserPlan:
    own = tuple(plans[preference] for preference in user.preferences)
    expected = sum(each.shard_bytes for each in own)
    return UserPlan(user.id, expected if max_bytes is None else min(expected, max_bytes), own)
