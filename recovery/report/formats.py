"""The formats of reports, comparisons and bundles, by the names of files, and how a file is written. One list for all
commands."""

from collections.abc import Sequence
from pathlib import Path

from recovery.errors import ReportError
from recovery.store.parts import write_file

PICTURES = ("png", "svg", "pdf")
TABLES = ("csv", "json", "latex", "markdown")
REPORT = ("terminal", "html", *PICTURES, *TABLES)
COMPARISON = ("html", *PICTURES, "csv")
BUNDLE = ("zip",)
ENDINGS = {"txt": "terminal", "html": "html", "htm": "html", "tex": "latex", "md": "markdown"}
ENDINGS |= {kind: kind for kind in (*PICTURES, "csv", "json", *BUNDLE)}
"""Ending of a file -> its format. A format's own name is one too, but is not advised."""


def format_of(out: Path | None, asked: str | None, allowed: Sequence[str]) -> str | None:
    """The format asked for, or the one that the ending of `out` names; None where neither says one.

    Raises `ReportError` for a file whose ending names no format, or another one than asked for.
    """
    if out is None or out.is_dir() or not out.suffix:
        return asked
    ending = out.suffix.lstrip(".").lower()
    named = ENDINGS.get(ending, ending)
    if named not in allowed:
        endings = ", ".join(sorted(end for end, kind in ENDINGS.items() if kind in allowed))
        raise ReportError(f"{out}: no format ends in .{ending}; allowed: {endings}")
    if asked is not None and asked != named:
        raise ReportError(f"{out} ends as {named}, and --format asks for {asked}; give one of them")
    return named


def write(path: Path, data: bytes) -> Path:
    """Write a file, whole or not at all, and the folders above it; a `ReportError` says what stands in the way."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}; give another place with --out"
        raise ReportError(message) from error
    return path
