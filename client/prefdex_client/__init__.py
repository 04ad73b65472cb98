"""The device side of prefdex: a store of signed versions, and a memory that answers from it.

from prefdex_client import DeviceStore

store = DeviceStore.open("store/", trust="root.json", audience="u-4711", encoder="encoder/")
store.apply("me.pdx")
print(store.memory().context("What should I cook tonight?"))
"""

from prefdex_shared.changes import Changes
from prefdex_shared.errors import PrefdexError
from prefdex_shared.records import Document
from prefdex_shared.steering import PAPER, UNSTEERED, Scoring

from .context import ContextTemplate, render_context
from .hits import Hit, Match
from .info import PreferenceInfo, Stats
from .local import IngestReport, LocalConfig
from .memory import Memory
from .patching import apply_patch
from .store import Applied, DeviceStore

__all__ = [
    "PAPER",
    "UNSTEERED",
    "Applied",
    "Changes",
    "ContextTemplate",
    "DeviceStore",
    "Document",
    "Hit",
    "IngestReport",
    "LocalConfig",
    "Match",
    "Memory",
    "PrefdexError",
    "PreferenceInfo",
    "Scoring",
    "Stats",
    "apply_patch",
    "render_context",
]
