"""The demo: the whole way from two public corpora to a steered answer, on this machine."""

from .run import DemoConfig, DemoResult, run

__all__ = ["DemoConfig", "DemoResult", "run"]
