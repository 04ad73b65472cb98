"""Exporting an encoder folder from a model."""

from .export import MIN_PARITY, ExportReport, export

__all__ = ["MIN_PARITY", "ExportReport", "export"]
