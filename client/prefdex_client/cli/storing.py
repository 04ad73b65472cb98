"""`prefdex-client apply`, `forget`, `add`, `previous` and `changes`: the store on this device."""

from __future__ import annotations

import argparse

from ..store import DeviceStore
from .output import emit, say

COMMANDS = {
    "apply": "Take over a bundle or a patch.",
    "forget": "Forget a preference: its bytes leave this device at once.",
    "add": "Add a preference: it steers at once, and waits for its shard.",
    "previous": "Go back to the version before, without what was forgotten.",
    "changes": "Show what was changed here, for the server that builds.",
}
_ARGUMENT = {
    "apply": ("file", "FILE", "a .pdx file: a bundle or a patch", "patch.pdx"),
    "forget": ("preference", "PREFERENCE", "its text", "'I travel by train.'"),
    "add": ("preference", "PREFERENCE", "its text", "'I like herbs.'"),
}


def example(command: str) -> str:
    """Return an example's arguments."""
    last = f" {_ARGUMENT[command][3]}" if command in _ARGUMENT else ""
    return f"store/{last} --trust root.json --audience u-4711"


def add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of one of the commands."""
    parser.add_argument("store", metavar="STORE", help="the store's folder; a new one is made")
    if command in _ARGUMENT:
        name, shown, text, _ = _ARGUMENT[command]
        parser.add_argument(name, metavar=shown, help=text)
    parser.add_argument("--trust", metavar="FILE", required=True, help="the publisher's root.json")
    parser.add_argument("--audience", metavar="ID", required=True, help="whose store it must be")
    if command == "apply":
        parser.add_argument("--allow-expired", action="store_true", help="take it even if it has expired")


def run(options: argparse.Namespace) -> int:
    """Run one of the commands."""
    store = DeviceStore.open(options.store, trust=options.trust, audience=options.audience)
    result, line = _do(store, options)
    if options.json:
        emit(result)
    else:
        say(line)
    return 0


def _do(store: DeviceStore, options: argparse.Namespace) -> tuple[object, str]:
    """Return a command's result for a machine, and for a person."""
    if options.command == "apply":
        applied = store.apply(options.file, allow_expired=options.allow_expired)
        return applied, f"version {applied.version}: {applied.n_files} files and {applied.n_bytes:,} bytes were new"
    if options.command == "previous":
        version = store.previous()
        return {"version": version}, f"version {version}"
    # What a preference says stays out of the output: terminals are kept in many places.
    if options.command == "forget":
        store.forget(options.preference)
        return {"forgotten": True}, "forgotten: its bytes are gone, and no version brings it back by itself"
    if options.command == "add":
        store.add_preference(options.preference)
        return {"added": True}, "added: it steers from now on, and waits for its shard"
    changes = store.changes()
    return changes, f"{len(changes.add)} added and {len(changes.forget)} forgotten; --json writes them for the server"
