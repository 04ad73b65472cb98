"""The stages of the pipeline.

Each is a plain function over a batch, and a small class that loads what it needs on a worker.
"""

from .embed import EmbedStage, embed
from .filter import FilterStage, filter_blocks
from .pack import PackStage
from .read import ReadStage, read_and_chunk
from .trim import TrimStage, trim
from .verify import VerifyStage, verify

__all__ = [
    "EmbedStage",
    "FilterStage",
    "PackStage",
    "ReadStage",
    "TrimStage",
    "VerifyStage",
    "embed",
    "filter_blocks",
    "read_and_chunk",
    "trim",
    "verify",
]
