"""The formats of reports, comparisons and bundles, by the names of files. One list for all commands."""

from collections.abc import Sequence
from pathlib import Path

from recovery.errors import ReportError

PICTURES = ("png", "svg", "pdf")
TABLES = ("csv", "json", "latex", "markdown")
REPORT = ("terminal", "html", *PICTURES, *TABLES)
COMPARISON = ("html", *PICTURES, "csv")
BUNDLE = ("zip",)
SUFFIXES = {"txt": "terminal", "htm": "html", "tex": "latex", "md": "markdown"}
"""Endings of files that are not the format's own name."""


def format_of(out: Path | None, asked: str | None, allowed: Sequence[str]) -> str | None:
    """The format asked for, or the one that the ending of `out` names; None where neither says one.

    Raises `ReportError` for a file whose ending names no format, or another one than asked for.
    """
    if out is None or out.is_dir() or not out.suffix:
        return asked
    ending = out.suffix.lstrip(".").lower()
    named = SUFFIXES.get(ending, ending)
    endings = ", ".join(sorted({*allowed, *(end for end, kind in SUFFIXES.items() if kind in allowed)} & _written()))
    if named not in allowed:
        raise ReportError(f"{out}: no format ends in .{ending}; allowed: {endings}")
    if asked is not None and asked != named:
        raise ReportError(f"{out} ends as {named}, and --format asks for {asked}; give one of them")
    return named


def _written() -> set[str]:
    """Endings that files have: a format's own name, or the usual short form of it."""
    return {*(set(REPORT) - set(SUFFIXES.values())), "html", *SUFFIXES, *BUNDLE}
