"""The store on the device: signed versions, what was forgotten, and what was added here."""

from .reading import STATE_FILE
from .store import Applied, DeviceStore

__all__ = ["STATE_FILE", "Applied", "DeviceStore"]
