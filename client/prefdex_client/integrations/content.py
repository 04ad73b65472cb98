"""What a hit becomes in another framework: its text with how to read it, and everything else as metadata."""

from __future__ import annotations

from ..hits import Hit


def content(hit: Hit, *, with_instructions: bool) -> str:
    """Return a hit's text, with its instructions as notes if they are wanted."""
    notes = [f"Note: {' '.join(instruction.split())}" for instruction in hit.instructions] if with_instructions else []
    return "\n".join([hit.text, *notes])


def metadata(hit: Hit) -> dict[str, object]:
    """Return what is known of a hit, as plain values."""
    return {
        "chunk_id": hit.chunk_id,
        "title": hit.title,
        "source": hit.source,
        "score": hit.score,
        "instructions": list(hit.instructions),
        "preferences": list(hit.preferences),
        "local": hit.is_local,
    }
