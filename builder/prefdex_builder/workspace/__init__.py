"""The builder's workspace: one folder, Parquet throughout, in which nothing that was finished is done again."""

from .candidates import CandidateStore, Found
from .corpus import CorpusStore, Live, LiveChunk, Snapshot
from .failures import Failure, FailureStore
from .shards import ShardIndex, ShardRecord, shard_key
from .storage import Storage
from .users import UserStore
from .verdicts import Answers, VerdictStore, pair_key
from .workspace import Workspace

__all__ = [
    "Answers",
    "CandidateStore",
    "CorpusStore",
    "Failure",
    "FailureStore",
    "Found",
    "Live",
    "LiveChunk",
    "ShardIndex",
    "ShardRecord",
    "Snapshot",
    "Storage",
    "UserStore",
    "VerdictStore",
    "Workspace",
    "pair_key",
    "shard_key",
]
