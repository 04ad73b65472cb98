"""The builder's workspace: one folder, Parquet throughout, in which nothing that was finished is done again."""

from .corpus import CorpusStore, LiveChunk, Snapshot
from .shards import ShardIndex, ShardRecord, shard_key
from .storage import Storage
from .users import UserStore
from .verdicts import VerdictStore, pair_key
from .workspace import Workspace

__all__ = [
    "CorpusStore",
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
