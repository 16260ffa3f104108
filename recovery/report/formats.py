"""The formats of reports and comparisons for all commands, by file ending, and how a file is written."""

from collections.abc import Sequence
from pathlib import Path

from recovery.errors import ReportError
from recovery.store.files import write_file, writing

PICTURES = ("png", "svg", "pdf")
REPORT = ("terminal", "html", *PICTURES, "csv", "json", "latex")
COMPARISON = ("csv", "json")
ENDINGS = {"txt": "terminal", "html": "html", "htm": "html", "tex": "latex"}
ENDINGS |= {kind: kind for kind in (*PICTURES, "csv", "json")}
"""Ending of a file -> the name of its format."""


def format_of(out: Path | None, requested: str | None, allowed: Sequence[str]) -> str | None:
    """Return the requested format, or the one that the ending of `out` names; None without either.

    Raises `ReportError` for an unknown ending, or one that contradicts the requested format.
    """
    if out is None or out.is_dir() or not out.suffix:
        return requested
    ending = out.suffix.lstrip(".").lower()
    named = ENDINGS.get(ending, ending)
    if named not in allowed:
        endings = ", ".join(sorted(end for end, kind in ENDINGS.items() if kind in allowed))
        raise ReportError(f"{out}: no format ends in .{ending}; allowed: {endings}")
    if requested is not None and requested != named:
        raise ReportError(f"{out} ends as {named}, but --format is {requested}; give one of them")
    return named


def write(path: Path, data: bytes, inside: Path | None = None) -> Path:
    """Write a file completely or not at all, and create its folders.

    inside: the folder of a path that the program chose; a symbolic link inside is not followed, because the folder may
    come from somebody else. Returns `path`. Raises `ReportError` for such a link, and `StoreError` for a failure.
    """
    if inside is not None and path.resolve() != inside.resolve() / path.relative_to(inside):
        remedy = "remove the link, or give another place with --out"
        raise ReportError(f"{path} is a symbolic link or is behind one; {remedy}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, data)
    return path
