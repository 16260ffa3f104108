"""Run `recover` as `python -m recovery.cli`."""

from .start import main

main()
