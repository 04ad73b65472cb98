"""What a device makes of the documents that come to it: the builder's steps, on the device.

They are imported when the first document comes: a device that only asks does without.
"""

from .config import IngestReport, LocalConfig

__all__ = ["IngestReport", "LocalConfig"]
