"""What a command did, in numbers; the same record is shown to a person and printed as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_EXAMPLES = 20
"""Faults that are named one by one; all are counted."""


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `corpus add` did.

    Attributes:
        snapshot: Number of the snapshot that is current now.
        files: Files read.
        skipped_files: Files of no kind that is read.
        documents: Documents taken.
        chunks: Distinct chunks of them.
        new_chunks: Chunks that were embedded; the others had an embedding.
        faults: Records with something wrong, by kind.
        examples: The first of them, as `file:position kind id`.
        seconds: Time per stage.
    """

    snapshot: int
    files: int
    skipped_files: int
    documents: int
    chunks: int
    new_chunks: int
    faults: Mapping[str, int]
    examples: tuple[str, ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PreferencePlan:
    """What a build would do for one preference.

    Attributes:
        preference: Its text.
        is_missing: Whether its shard must be built.
        candidates: Pairs that pass the coarse filter.
        to_judge: Those without a verdict.
        shard_bytes: Size of its shard: as it is, or as it is expected to be.
    """

    preference: str
    is_missing: bool
    candidates: int
    to_judge: int
    shard_bytes: int


@dataclass(frozen=True, slots=True)
class UserPlan:
    """What a user would get.

    Attributes:
        user: Opaque id.
        bundle_bytes: Expected size of the shards together, under the cap.
        preferences: In the user's order.
    """

    user: str
    bundle_bytes: int
    preferences: tuple[PreferencePlan, ...]


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What `build` would do.

    Attributes:
        llm: Name of the engine.
        documents: Live documents of the corpus.
        chunks: Live chunks of the corpus.
        preferences: Distinct preferences of all users.
        shards_missing: Shards that must be built.
        candidates: Their candidate pairs.
        pairs_to_judge: Those without a verdict.
        llm_calls: Prompts that are expected: a verdict for each of these, and an instruction for as many as were kept
            so far of those judged.
        llm_calls_at_most: If all were kept.
        prompt_tokens: Tokens of the expected prompts, about: as the encoder counts those of a sample.
        output_tokens: Tokens of the answers, about.
        cost: What they cost at the configured prices; None where there are none.
        users: What each would get.
        chunks_to_embed: Chunks of the configured sources that have no embedding yet; what they bring is not counted.
        seconds: Time per stage.
    """

    llm: str
    documents: int
    chunks: int
    preferences: int
    shards_missing: int
    candidates: int
    pairs_to_judge: int
    llm_calls: int
    llm_calls_at_most: int
    prompt_tokens: int
    output_tokens: int
    cost: float | None
    users: tuple[UserPlan, ...]
    chunks_to_embed: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreferenceReport:
    """What became of one preference.

    Attributes:
        preference: Its text.
        candidates: Pairs that passed the coarse filter.
        entries: Pairs kept, with an instruction.
        left_out: Entries that the byte budget left out of this user's bundle.
        failed: Pairs that failed.
        shard_bytes: Size of its shard in this user's bundle.
    """

    preference: str
    candidates: int
    entries: int
    left_out: int
    failed: int
    shard_bytes: int


@dataclass(frozen=True, slots=True)
class UserReport:
    """A user's bundle.

    Attributes:
        user: Opaque id.
        version: Version of the bundle.
        is_new: Whether this build made the version.
        path: The `.pdx` file.
        bundle_bytes: Its size.
        preferences: In the user's order.
    """

    user: str
    version: int
    is_new: bool
    path: str
    bundle_bytes: int
    preferences: tuple[PreferenceReport, ...]


@dataclass(frozen=True, slots=True)
class RemoveReport:
    """What `corpus remove` did.

    Attributes:
        snapshot: Number of the snapshot that is current now.
        documents: Documents taken out.
        chunks: Chunks that no document holds any more.
    """

    snapshot: int
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What `build` did: the funnel, and the bundles.

    Attributes:
        llm: Name of the engine.
        documents: Live documents of the corpus.
        chunks: Live chunks of the corpus.
        preferences: Distinct preferences of all users.
        shards_built: Shards that had to be built; the others were there.
        llm_calls: Prompts put to the engine by this build.
        prompt_tokens: Tokens of these prompts, about: as the encoder counts them.
        output_tokens: Tokens of the answers, about.
        cost: What they cost at the configured prices; None where there are none.
        candidates: Pairs that passed the coarse filter, of all distinct shards.
        kept: Those judged to be kept.
        discarded: Those judged to be discarded.
        failed: Those that failed, by stage and reason; they are tried again by the next build.
        entries: Those kept that have an instruction.
        users: The bundles.
        page: Where the report for people stands.
        seconds: Time per stage.
    """

    llm: str
    documents: int
    chunks: int
    preferences: int
    shards_built: int
    llm_calls: int
    prompt_tokens: int
    output_tokens: int
    cost: float | None
    candidates: int
    kept: int
    discarded: int
    failed: Mapping[str, int]
    entries: int
    users: tuple[UserReport, ...]
    page: str
    seconds: Mapping[str, float] = field(default_factory=dict)
