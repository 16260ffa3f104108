"""Phase transitions in neural-network recovery: convex programs, certificates, sweeps, reports."""

from importlib.metadata import version

__version__ = version("recover")
