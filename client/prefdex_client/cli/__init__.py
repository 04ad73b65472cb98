"""The `prefdex-client` command."""

from .main import main

__all__ = ["main"]
