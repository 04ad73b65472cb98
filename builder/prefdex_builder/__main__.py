"""`python -m prefdex_builder` is `prefdex`."""

from .cli import main

if __name__ == "__main__":
    main()
