"""The report of a workspace as one HTML file, put together from a summary of each shard."""

from .page import REPORT_FILE, render
from .summary import Sample, Summary, summarize

__all__ = ["REPORT_FILE", "Sample", "Summary", "render", "summarize"]
