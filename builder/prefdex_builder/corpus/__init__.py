"""Reading a corpus: where its files are, and what stands in them."""

from .readers import Fault, FaultKind, Reading, read
from .sources import SourceFile, find

__all__ = ["Fault", "FaultKind", "Reading", "SourceFile", "find", "read"]
