"""The `prefdex` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; where the `builder` extra is not installed, say so."""
    try:
        from .app import main as run
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package.startswith("prefdex"):
            raise
        sys.exit(f"error: The package {package!r} is not installed.\n  try: pip install 'prefdex[builder]'")
    except KeyboardInterrupt:  # the imports take a second or two
        sys.exit(130)
    run()


__all__ = ["main"]
