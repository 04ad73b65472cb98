"""What a device makes of the documents that come to it: the builder's steps, on the device."""

from .config import IngestReport, LocalConfig
from .llms import LocalLLM

__all__ = ["IngestReport", "LocalConfig", "LocalLLM"]
