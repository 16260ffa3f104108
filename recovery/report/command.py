"""What `recover report` does, for the command line and for scripts."""

import re
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console

from recovery.errors import ReportError
from recovery.report.diagram import Diagram
from recovery.report.figure import draw, render
from recovery.report.tables import as_csv, as_json
from recovery.report.terminal import print_diagram
from recovery.store import read

TABLES: dict[str, Callable[[list[Diagram]], str]] = {"csv": as_csv, "json": as_json}
PIPE_WIDTH = 120
"""Columns of the map where there is no terminal to ask."""


def report(results: Sequence[Path], kind: str | None, value: str | None, out: Path | None) -> list[Path]:
    """Render the grids of some results folders; the paths of the files written.

    `kind` None: the map on stdout and a PNG. Tables go to stdout, and pictures to RESULTS/report/, unless `out` names
    a file (or, for several pictures, a folder). Raises `StoreError` and `ReportError`.
    """
    diagrams = [Diagram.of(read(path), value) for path in results]
    if kind in TABLES:
        text = TABLES[kind](diagrams)
        if out is None:
            sys.stdout.write(text)
            return []
        return [write(out, text.encode())]
    if kind == "terminal" and out is not None:
        return [write(out, _as_text(diagrams).encode())]
    if kind in (None, "terminal"):
        console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
        for diagram in diagrams:
            print_diagram(diagram, console)
    if kind == "terminal":
        return []
    suffix = kind or "png"
    written = []
    for diagram in diagrams:
        written.append(write(_place(diagram, suffix, out, len(diagrams)), render(draw(diagram), suffix)))
        sys.stdout.write(f"{written[-1]}\n")
    return written


def _as_text(diagrams: list[Diagram]) -> str:
    buffer = StringIO()
    for diagram in diagrams:
        print_diagram(diagram, Console(file=buffer, width=PIPE_WIDTH))
    return buffer.getvalue()


def _place(diagram: Diagram, suffix: str, out: Path | None, count: int) -> Path:
    """`out`, or a file named after the sweep and the value in `out` if that is a folder, else in RESULTS/report."""
    if out is not None and count == 1 and not out.is_dir():
        return out
    name = re.sub(r"[^\w.-]+", "_", f"{diagram.name}-{diagram.quantity}").strip("_")
    return (out if out is not None else diagram.grid.path / "report") / f"{name}.{suffix}"


def write(path: Path, data: bytes) -> Path:
    """Write a file and the folders above it; a `ReportError` says what stands in the way."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}; give another place with --out"
        raise ReportError(message) from error
    return path
