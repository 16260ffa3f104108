"""`python -m recovery.cli` is `recover`."""

from .start import main

main()
