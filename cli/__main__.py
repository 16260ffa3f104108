"""`python -m recovery.cli` is `recover`."""

from .main import main

main(prog_name="recover")
