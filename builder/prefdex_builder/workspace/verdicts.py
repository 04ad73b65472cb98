"""What LLMs have said so far, by content, so that no finished call is made twice.

    verdicts/<judge>/<hash>.parquet        pair key, keep, reason, confidence
    instructions/<writer>/<hash>.parquet   pair key, instruction

A folder belongs to one engine with one prompt. Small batches are written as they finish, by whichever worker finished
them, under a name that follows from what was asked: a batch that is asked again finds its answers. `compact` joins
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from prefdex_shared.ids import content_hash
from prefdex_shared.records import Pair, Verdict

from .storage import Storage, rows

_SUFFIX = ".parquet"
_MAX_FILES = 64
_VERDICTS = pa.schema(
    [("pair_key", pa.string()), ("keep", pa.bool_()), ("reason", pa.string()), ("confidence", pa.float64())]
)
_INSTRUCTIONS = pa.schema([("pair_key", pa.string()), ("instruction", pa.string())])


def pair_key(pair: Pair) -> str:
    """Return the identity of a question to an LLM: all that stands in its prompt."""
    return content_hash("prefdex/pair/1", pair.preference.text, pair.chunk.title, pair.chunk.text)


@dataclass(slots=True)
class Answers:
    """Verdicts and instructions by pair key.

    Attributes:
        verdicts: Verdicts.
        instructions: Instructions of kept pairs.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    instructions: dict[str, str] = field(default_factory=dict)

    def __or__(self, other: Answers) -> Answers:
        return Answers(self.verdicts | other.verdicts, self.instructions | other.instructions)


@dataclass(frozen=True, slots=True)
class VerdictStore:
    """The answers of one judge and one writer.

    Attributes:
        verdicts: Folder of the judge.
        instructions: Folder of the writer.
    """

    verdicts: Storage
    instructions: Storage

    def load(self) -> Answers:
        """Return all answers."""
        return self._read(self.verdicts.names(_SUFFIX), self.instructions.names(_SUFFIX))

    def load_batch(self, asked: Sequence[str]) -> Answers:
        """Return the answers that were saved for a batch, if any."""
        name = _batch_name(asked)
        folders = (self.verdicts, self.instructions)
        return self._read(*([name] if folder.exists(name) else [] for folder in folders))

    def save(self, asked: Sequence[str], new: Answers) -> None:
        """Store new answers.

        Args:
            asked: Pair keys of the batch that they belong to.
            new: The answers.
        """
        name = _batch_name(asked)
        if new.verdicts:
            self.verdicts.write_table(name, _verdicts_table(new.verdicts))
        if new.instructions:
            self.instructions.write_table(name, _instructions_table(new.instructions))

    def compact(self) -> None:
        """Join many small files into one; nobody may be writing."""
        verdicts, instructions = self.verdicts.names(_SUFFIX), self.instructions.names(_SUFFIX)
        if len(verdicts) + len(instructions) <= _MAX_FILES:
            return
        whole = self._read(verdicts, instructions)
        for folder, old, table in (
            (self.verdicts, verdicts, _verdicts_table(whole.verdicts)),
            (self.instructions, instructions, _instructions_table(whole.instructions)),
        ):
            name = _batch_name(table["pair_key"].to_pylist())
            folder.write_table(name, table)
            # Only now that all of it stands in the new file.
            for each in set(old) - {name}:
                folder.remove(each)

    def _read(self, verdicts: Sequence[str], instructions: Sequence[str]) -> Answers:
        return Answers(
            {
                str(row["pair_key"]): Verdict(bool(row["keep"]), str(row["reason"]), float(str(row["confidence"])))
                for name in verdicts
                for row in rows(self.verdicts.read_table(name))
            },
            {
                str(row["pair_key"]): str(row["instruction"])
                for name in instructions
                for row in rows(self.instructions.read_table(name))
            },
        )


def _verdicts_table(verdicts: Mapping[str, Verdict]) -> pa.Table:
    values = verdicts.values()
    columns = ([getattr(verdict, name) for verdict in values] for name in _VERDICTS.names[1:])
    return pa.table([list(verdicts), *columns], schema=_VERDICTS)


def _instructions_table(instructions: Mapping[str, str]) -> pa.Table:
    return pa.table([list(instructions), list(instructions.values())], schema=_INSTRUCTIONS)


def _batch_name(asked: Sequence[str]) -> str:
    return f"{content_hash('prefdex/answers/1', *sorted(asked))}{_SUFFIX}"
