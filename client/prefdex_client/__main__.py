"""`python -m prefdex_client` is `prefdex-client`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
