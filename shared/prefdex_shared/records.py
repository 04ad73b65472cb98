"""The records that stages hand to each other. All are immutable, and none knows where it is stored."""

from __future__ import annotations

from dataclasses import dataclass

from .ids import ChunkId, PreferenceId, chunk_id, normalize_preference, preference_id


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a corpus.

    Attributes:
        id: Unique in its corpus; a later document of the same id replaces it.
        title: May be empty.
        text: Not empty.
        source: Where it came from, for attribution (a name or an address); may be empty.
    """

    id: str
    title: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document, small enough for the encoder to read whole.

    Attributes:
        text: The passage.
        title: Title of the document; of the one with the smallest id, where several hold the same passage.
        source: Source of that document.
    """

    text: str
    title: str = ""
    source: str = ""

    @property
    def id(self) -> ChunkId:
        """The id, which follows from the text alone."""
        return chunk_id(self.text)


@dataclass(frozen=True, slots=True)
class Preference:
    """One stated preference.

    Attributes:
        text: In NFC, with white space collapsed.
    """

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", normalize_preference(self.text))

    @property
    def id(self) -> PreferenceId:
        """The id, which follows from the text alone."""
        return preference_id(self.text)


@dataclass(frozen=True, slots=True)
class Pair:
    """A chunk and a preference that the coarse filter found to be near each other.

    Attributes:
        similarity: Cosine similarity of the stored vectors, rounded to 1e-4.
    """

    chunk: Chunk
    preference: Preference
    similarity: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about one pair.

    Attributes:
        keep: Whether the chunk matters to the preference.
        reason: One sentence, for a person who checks the decision.
        confidence: In [0, 1].
    """

    keep: bool
    reason: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A stage could not handle one item. It is counted, reported and tried again by the next build.

    Attributes:
        stage: Name of the stage.
        reason: What went wrong, without any text of the item.
        retryable: Whether the same request may succeed later.
    """

    stage: str
    reason: str
    retryable: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """A kept pair with its instruction: one row of a shard.

    Attributes:
        text: The chunk's text.
        title: The chunk's title.
        source: The chunk's source.
        instruction: How to read the chunk in the light of the preference.
        confidence: The verdict's confidence in [0, 1], in steps of 0.001.
        similarity: The pair's cosine similarity, in steps of 1e-4.
    """

    text: str
    title: str
    source: str
    instruction: str
    confidence: float
    similarity: float

    @property
    def chunk_id(self) -> ChunkId:
        """The chunk's id, which follows from the text alone."""
        return chunk_id(self.text)
