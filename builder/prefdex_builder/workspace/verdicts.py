"""What LLMs have said so far, by content, so that no finished call is made twice.

    verdicts/<judge>/<hash>.parquet        pair key, keep, reason, confidence
    instructions/<writer>/<hash>.parquet   pair key, instruction

A folder belongs to one engine with one prompt. Batches are written as they finish, by whichever worker finished them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from prefdex_shared.ids import content_hash
from prefdex_shared.records import Pair, Verdict

from .storage import Storage, rows

_VERDICTS = pa.schema(
    [("pair_key", pa.string()), ("keep", pa.bool_()), ("reason", pa.string()), ("confidence", pa.float64())]
)
_INSTRUCTIONS = pa.schema([("pair_key", pa.string()), ("instruction", pa.string())])


def pair_key(pair: Pair) -> str:
    """Return the identity of a question to an LLM: all that stands in its prompt."""
    return content_hash("prefdex/pair/1", pair.preference.text, pair.chunk.title, pair.chunk.text)


@dataclass(frozen=True, slots=True)
class VerdictStore:
    """The answers of one judge and one writer.

    Attributes:
        verdicts: Folder of the judge.
        instructions: Folder of the writer.
    """

    verdicts: Storage
    instructions: Storage

    def load(self) -> tuple[dict[str, Verdict], dict[str, str]]:
        """Return all verdicts and all instructions by pair key."""
        verdicts = {
            str(row["pair_key"]): Verdict(bool(row["keep"]), str(row["reason"]), float(str(row["confidence"])))
            for name in self.verdicts.names(".parquet")
            for row in rows(self.verdicts.read_table(name))
        }
        instructions = {
            str(row["pair_key"]): str(row["instruction"])
            for name in self.instructions.names(".parquet")
            for row in rows(self.instructions.read_table(name))
        }
        return verdicts, instructions

    def save(self, verdicts: Mapping[str, Verdict], instructions: Mapping[str, str]) -> None:
        """Store new answers."""
        if verdicts:
            columns = [
                list(verdicts),
                [verdict.keep for verdict in verdicts.values()],
                [verdict.reason for verdict in verdicts.values()],
                [verdict.confidence for verdict in verdicts.values()],
            ]
            self.verdicts.write_table(_name(verdicts), pa.table(columns, schema=_VERDICTS))
        if instructions:
            table = pa.table([list(instructions), list(instructions.values())], schema=_INSTRUCTIONS)
            self.instructions.write_table(_name(instructions), table)


def _name(answers: Mapping[str, object]) -> str:
    return f"{content_hash('prefdex/answers/1', *sorted(answers))}.parquet"
