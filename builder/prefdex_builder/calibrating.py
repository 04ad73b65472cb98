"""`calibrate`: what each threshold would keep of this corpus for these preferences, and what it would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from prefdex_shared.candidates import Candidate, Candidates
from prefdex_shared.encoder import open_encoder
from prefdex_shared.errors import ConfigurationError
from prefdex_shared.filtering import FilterConfig
from prefdex_shared.records import Preference
from prefdex_shared.shard import MAX_ENTRIES
from prefdex_shared.vectors import store

from .cluster import Session
from .config import BuildConfig
from .joining import search
from .preferences import User, distinct
from .progress import Progress, Stopwatch
from .stages import FilterStage
from .state import State
from .workspace import Workspace

N_STEPS = 4
"""Thresholds below and above the configured one."""

STEP = 0.05
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Threshold:
    """What one threshold keeps.

    Attributes:
        tau: The threshold.
        candidates: Pairs, under the configured cap per preference.
        median: Of a preference.
        least: Of the preference with the fewest.
        starving: Preferences with fewer than `min_candidates`, or with none.
        capped: Preferences with as many as the cap allows, or more.
        llm_calls_at_most: A verdict and an instruction for each pair.
    """

    tau: float
    candidates: int
    median: float
    least: int
    starving: int
    capped: int
    llm_calls_at_most: int


@dataclass(frozen=True, slots=True)
class Example:
    """A pair near the threshold.

    Attributes:
        similarity: Its cosine similarity.
        preference: The preference.
        title: Title of the document.
        text: The chunk.
    """

    similarity: float
    preference: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class CalibrateReport:
    """What thresholds would keep.

    Attributes:
        tau: The configured threshold.
        chunks: Live chunks of the corpus.
        preferences: Distinct preferences.
        thresholds: From the lowest on.
        above: Pairs just above the configured threshold, nearest first.
        below: Pairs just below it.
        seconds: Time per stage.
    """

    tau: float
    chunks: int
    preferences: int
    thresholds: tuple[Threshold, ...]
    above: tuple[Example, ...]
    below: tuple[Example, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)


def calibrate(
    workspace: Workspace,
    users: Sequence[User],
    *,
    encoder: str,
    session: Session,
    progress: Progress,
    config: BuildConfig | None = None,
) -> CalibrateReport:
    """Compare thresholds around the configured one. Nothing is changed.

    Args:
        workspace: Holds a corpus.
        users: Whose preferences.
        encoder: Location of the encoder that embedded the corpus.
        session: Where the stage runs.
        progress: Shows how far it is.
        config: Threshold and caps.

    Raises:
        ConfigurationError: There is no corpus, or nobody has a preference.
    """
    config, watch = config or BuildConfig(), Stopwatch(progress)
    loaded = open_encoder(encoder)
    state = State.of(workspace, loaded, "")
    preferences = distinct(users)
    if not preferences:
        raise ConfigurationError("Nobody has a preference.", hint="Give users with preferences.")
    taus = [round(config.filtering.tau + step * STEP, 4) for step in range(-N_STEPS, N_STEPS + 1)]
    taus = [tau for tau in taus if -1 <= tau <= 1]
    vectors = store(loaded.encode([preference.text for preference in preferences]))
    wide = FilterConfig(taus[0], MAX_ENTRIES)
    dead = np.array(sorted(state.dead(workspace)), dtype=np.bytes_)
    stage = FilterStage(workspace, vectors, wide, dead, config.filter_engine)
    found = search(state.snapshot.blocks, stage, Candidates.none(), session, watch).lists(len(preferences))
    above, below = _near(found, config.filtering.tau)
    texts = workspace.corpus.texts(state.snapshot, {each.chunk_id for _, each in (*above, *below)})

    def examples(pairs: Sequence[tuple[int, Candidate]]) -> tuple[Example, ...]:
        return tuple(_example(preferences[row], each, state, texts) for row, each in pairs)

    return CalibrateReport(
        config.filtering.tau,
        len(state.live),
        len(preferences),
        tuple(_threshold(tau, found, config.filtering) for tau in taus),
        examples(above),
        examples(below),
        watch.seconds,
    )


def _threshold(tau: float, found: Sequence[Sequence[Candidate]], config: FilterConfig) -> Threshold:
    near = np.array([sum(each.similarity >= tau for each in candidates) for candidates in found])
    counts = np.minimum(near, config.max_candidates)
    return Threshold(
        tau=tau,
        candidates=int(counts.sum()),
        median=float(np.median(counts)),
        least=int(counts.min()),
        starving=int((near < max(config.min_candidates, 1)).sum()),
        capped=int((near >= config.max_candidates).sum()),
        llm_calls_at_most=2 * int(counts.sum()),
    )


def _near(
    found: Sequence[Sequence[Candidate]], tau: float
) -> tuple[list[tuple[int, Candidate]], list[tuple[int, Candidate]]]:
    """Return the pairs just above and just below a threshold, of different preferences where there are."""
    sides: tuple[dict[int, Candidate], dict[int, Candidate]] = {}, {}
    for row, candidates in enumerate(found):
        above = [each for each in candidates if each.similarity >= tau]
        below = [each for each in candidates if each.similarity < tau]
        if above:
            sides[0][row] = above[-1]
        if below:
            sides[1][row] = below[0]
    by_distance = (sorted(side.items(), key=lambda item: (abs(item[1].similarity - tau), item[0])) for side in sides)
    above_tau, below_tau = (side[:_EXAMPLES] for side in by_distance)
    return above_tau, below_tau


def _example(preference: Preference, candidate: Candidate, state: State, texts: Mapping[str, str]) -> Example:
    key = candidate.chunk_id
    return Example(candidate.similarity, preference.text, state.live[key].title, texts[key])
