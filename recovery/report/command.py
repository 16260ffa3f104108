"""What `recover report` does, for the command line and for scripts."""

import re
import sys
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console

from recovery.errors import ReportError
from recovery.report.bundle import bundle
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures.difference import draw_difference
from recovery.report.figures.extras import extra_figures
from recovery.report.figures.figure import render
from recovery.report.figures.picture import picture
from recovery.report.pages.difference_page import as_html as comparison_page
from recovery.report.pages.page import as_html
from recovery.report.statistics import compare, in_words
from recovery.report.texts.tables import as_csv, as_json
from recovery.report.texts.terminal import print_diagram
from recovery.store import read

TEXTS: dict[str, Callable[[list[Analysis]], str]] = {"csv": as_csv, "json": as_json}
PIPE_WIDTH = 120
"""Columns of the map where there is no terminal to ask."""


def report(results: Sequence[Path], kind: str | None, value: str | None, out: Path | None) -> list[Analysis]:
    """Render the grids of some results folders, and hand back what was found in them.

    `kind` None: the map on stdout and a PNG. Tables go to stdout, and pictures to RESULTS/report/, unless `out` names
    a file (or, for several pictures, a folder). Raises `StoreError` and `ReportError`.
    """
    analyses = [Analysis(Diagram.of(read(path), value)) for path in results]
    if kind in TEXTS:
        text = TEXTS[kind](analyses)
        if out is None:
            sys.stdout.write(text)
        else:
            write(out, text.encode())
        return analyses
    if kind == "terminal" and out is not None:
        write(out, _as_text(analyses).encode())
        return analyses
    if kind in (None, "terminal"):
        console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH)
        for analysis in analyses:
            print_diagram(analysis, console)
    if kind == "html":
        place = _place(analyses[0].diagram, "html", out, 1)
        sys.stdout.write(f"{write(place, as_html(analyses).encode())}\n")
        return analyses
    for analysis in [] if kind == "terminal" else analyses:
        place = _place(analysis.diagram, kind or "png", out, len(analyses))
        figure = picture(analysis)
        sys.stdout.write(f"{write(place, render(figure, kind or 'png'))}\n")
        for name, extra in extra_figures(analysis).items():
            if name not in ("profile", "ratios"):  # those are the figure itself
                beside = place.with_name(f"{analysis.diagram.name}-{name}{place.suffix}")
                sys.stdout.write(f"{write(beside, render(extra.draw(), kind or 'png'))}\n")
    return analyses


def compare_results(first: Path, second: Path, value: str | None, most: int, out: Path | None) -> None:
    """Print how two grids differ; with `out`, write the difference as a page or figure, or its cells as CSV."""
    found = compare(Diagram.of(read(first), value), Diagram.of(read(second), value))
    sys.stdout.write("\n".join(in_words(found, most)) + "\n")
    if out is None:
        return
    kind = out.suffix.lstrip(".").lower()
    if kind == "csv":
        write(out, found.cells.to_csv(index=False, lineterminator="\n").encode())
    elif kind == "html":
        write(out, comparison_page(found).encode())
    elif kind in ("png", "svg", "pdf"):
        write(out, render(draw_difference(found), kind))
    else:
        raise ReportError(f"{out}: a comparison is written as .html, .png, .svg, .pdf or .csv")
    sys.stdout.write(f"{out}\n")


def bundle_results(results: Path, out: Path | None) -> None:
    """Write the archive of a results folder, and print its path."""
    analysis = Analysis(Diagram.of(read(results)))
    place = write(Path(f"{analysis.diagram.name}.zip") if out is None else out, bundle(analysis))
    sys.stdout.write(f"{place}\n")


def _as_text(analyses: list[Analysis]) -> str:
    buffer = StringIO()
    for analysis in analyses:
        print_diagram(analysis, Console(file=buffer, width=PIPE_WIDTH))
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
