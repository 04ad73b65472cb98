"""The store on the device: signed versions, what was forgotten, and what was added here."""

from .store import Applied, DeviceStore

__all__ = ["Applied", "DeviceStore"]
