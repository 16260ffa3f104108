"""Phase transitions in neural-network recovery: convex programs, certificates, sweeps, reports."""

from importlib.metadata import version

__version__ = version("recover")


def __getattr__(name: str) -> object:
    """`recovery.read(path)`: a stored grid with its report. Loaded when first used: it needs pandas and matplotlib."""
    if name == "read":
        from recovery.report.notebook import read

        return read
    raise AttributeError(f"module 'recovery' has no attribute {name!r}")
