"""Arguments, errors and exit codes of `prefdex-client`.

Exit codes: 0 done; 1 refused, with two lines that say why; 2 wrong arguments; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from prefdex_shared.errors import PrefdexError
from prefdex_shared.steering import Scoring

from . import doctor, inspecting, querying, storing

_FAILED, _INTERRUPTED = 1, 130
_TRUSTED, _ENCODER = "--trust root.json --audience u-4711", "--encoder encoder/"

Run = Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except PrefdexError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        print(f"  try: {error.hint or 'prefdex-client ' + options.command + ' --help'}", file=sys.stderr)  # noqa: T201
        return _FAILED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # noqa: T201
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="prefdex-client", description="Ask a signed prefdex bundle, on the device.")
    parser.add_argument("--version", action="version", version=f"prefdex {version('prefdex')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    example = f"me.pdx 'What should I cook tonight?' {_TRUSTED} {_ENCODER}"
    query = _command(commands, "query", "Ask questions.", querying.run, example)
    _bundle_arguments(query, "a .pdx file, or a store's folder")
    query.add_argument("--encoder", metavar="DIR", required=True, help="the encoder folder")
    query.add_argument("--min-version", type=int, default=0, metavar="N", help="refuse an older version")
    query.add_argument("questions", nargs="+", metavar="QUESTION")
    query.add_argument("-k", type=int, default=5, help="chunks per question (default 5)")
    query.add_argument("--context", action="store_true", help="print the hits as text for an LLM's prompt")
    query.add_argument("--unsteered", action="store_true", help="search with the question as it is asked")
    for knob in querying.KNOBS:
        help_text = f"override the bundle's steering (prefdex's own default: {getattr(Scoring(), knob)})"
        query.add_argument(f"--{knob.replace('_', '-')}", type=float, help=help_text)

    inspect = _command(commands, "inspect", "Show what a bundle holds.", inspecting.run, f"me.pdx {_TRUSTED}")
    _bundle_arguments(inspect, "a .pdx file")
    inspect.add_argument("--verify-only", action="store_true", help="verify, and print one line without any content")

    for name, text in storing.COMMANDS.items():
        storing.add_arguments(name, _command(commands, name, text, storing.run, storing.example(name)))

    check = _command(
        commands,
        "doctor",
        "Check encoder, trust, bundle, store, disk and clock.",
        doctor.run,
        _ENCODER,
    )
    check.add_argument("--encoder", metavar="DIR", help="the encoder folder to check")
    check.add_argument("--bundle", metavar="FILE", help="the bundle to check; needs --trust, --audience and --encoder")
    check.add_argument("--store", metavar="DIR", help="the store to check; needs the same three")
    check.add_argument("--trust", metavar="FILE", help="the publisher's root.json")
    check.add_argument("--audience", metavar="ID", help="whose bundle it must be")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str, run: Run, example: str
) -> argparse.ArgumentParser:
    epilog = f"example: prefdex-client {name} {example}"
    parser = commands.add_parser(name, help=text, description=text, epilog=epilog)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)
    return parser


def _bundle_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", help=what)
    parser.add_argument("--trust", metavar="FILE", required=True, help="the publisher's root.json")
    parser.add_argument("--audience", metavar="ID", required=True, help="whose bundle it must be")
