"""The candidates of preferences in the live corpus: what was found before, and a search of what is new since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from prefdex_shared.candidates import Candidate, Candidates
from prefdex_shared.encoder import Encoder
from prefdex_shared.filtering import FilterConfig, SimilarityJoin
from prefdex_shared.records import Preference
from prefdex_shared.vectors import Bytes, store

from .cluster import Session
from .config import BuildConfig
from .progress import Stopwatch
from .stages import FilterStage
from .stages.filter import NO_IDS, read_candidates
from .state import State
from .workspace import Found, Workspace

_BLOCKS_PER_CALL = 8
_PREFERENCES_AT_ONCE = 16_384
"""A bound on what is held for one pass over the corpus: so many times the cap of candidates."""


@dataclass(frozen=True, slots=True)
class Joiner:
    """Finds candidates, and keeps what it found in the workspace.

    Attributes:
        workspace: Holds the corpus.
        state: What is in it.
        encoder: Encoder of all vectors.
        config: Settings.
        session: Where the stage runs.
        watch: Shows how far it is.
    """

    workspace: Workspace
    state: State
    encoder: Encoder
    config: BuildConfig
    session: Session
    watch: Stopwatch

    def find(self, preferences: Sequence[Preference]) -> dict[Preference, list[Candidate]]:
        """Return the live candidates of each preference, best first."""
        kept = self.workspace.candidates(self.encoder.id, self.config.filtering)
        found = {preference: kept.find(preference) or Found((), 0) for preference in preferences}
        n_blocks = len(self.state.snapshot.blocks)
        # Each group was searched up to the same block; the rest of the corpus is new to all of it.
        groups: dict[int, list[Preference]] = defaultdict(list)
        for preference, each in found.items():
            groups[each.n_blocks].append(preference)
        groups.pop(n_blocks, None)
        for start, group in sorted(groups.items()):
            for at in range(0, len(group), _PREFERENCES_AT_ONCE):
                some = group[at : at + _PREFERENCES_AT_ONCE]
                before = [found[preference].candidates for preference in some]
                for preference, candidates in zip(some, self._search(some, start, before), strict=True):
                    found[preference] = Found(candidates, n_blocks)
                    kept.put(preference, found[preference])
        return self._alive({preference: each.candidates for preference, each in found.items()})

    def _alive(self, found: Mapping[Preference, Sequence[Candidate]]) -> dict[Preference, list[Candidate]]:
        """Leave out dead chunks; where they took the places of others, search anew without them."""
        live = {
            preference: [each for each in candidates if each.chunk_id in self.state.live]
            for preference, candidates in found.items()
        }
        config = self.config.filtering
        crowded = [preference for preference, each in found.items() if _may_lack(live[preference], each, config)]
        if crowded:
            dead = np.array(sorted(self.state.dead(self.workspace)), dtype=np.bytes_)
            live.update(zip(crowded, self._search(crowded, 0, [()] * len(crowded), dead), strict=True))
        return live

    def _search(
        self,
        preferences: Sequence[Preference],
        start: int,
        before: Sequence[Sequence[Candidate]],
        dead: Bytes = NO_IDS,
    ) -> list[list[Candidate]]:
        """Search the corpus's blocks from `start` on, and join what was found before."""
        # One at a time, as everywhere: a text has one vector.
        vectors = store(self.encoder.encode([preference.text for preference in preferences]))
        stage = FilterStage(self.workspace, vectors, self.config.filtering, dead, self.config.filter_engine)
        found = search(self.state.snapshot.blocks[start:], stage, Candidates.of(before), self.session, self.watch)
        return found.lists(len(preferences))


def search(
    blocks: Sequence[str], stage: FilterStage, before: Candidates, session: Session, watch: Stopwatch
) -> Candidates:
    """Run the coarse filter over blocks.

    Args:
        blocks: Names of blocks.
        stage: The filter.
        before: What was found in other blocks.
        session: Where it runs.
        watch: Shows how far it is.
    """
    batches = [
        pa.table({"block": blocks[at : at + _BLOCKS_PER_CALL]}) for at in range(0, len(blocks), _BLOCKS_PER_CALL)
    ]
    join = SimilarityJoin(stage.preferences, stage.config)
    join.hold(before)
    with watch.stage("filter", len(batches)) as advance:
        for table in session.run(stage, batches):
            join.hold(read_candidates(table))
            advance(1)
    return join.candidates()


def _may_lack(live: Sequence[Candidate], found: Sequence[Candidate], config: FilterConfig) -> bool:
    """Whether a live chunk may have been left out for the sake of one that is dead."""
    n_near = sum(each.similarity >= config.tau for each in live)
    is_full = len(found) >= config.max_candidates or n_near < config.min_candidates
    return len(live) < len(found) and is_full
