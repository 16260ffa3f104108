"""The command `recover report`, for the command line and for scripts."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import IO

from recovery.config.header import overridden
from recovery.config.load import read_claims
from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.formats import PICTURES, REPORT, format_of, write
from recovery.report.texts import as_csv, as_json, as_latex
from recovery.store import read

TEXTS: dict[str, Callable[[list[Analysis], Sequence[str]], str]] = {
    "csv": as_csv,
    "json": lambda analyses, columns: as_json(analyses),
    "latex": as_latex,
}
PIPE_WIDTH = 120
"""Width of the map in characters if stdout is no terminal."""


def report(
    results: Sequence[Path],
    kind: str | None,
    value: str | Sequence[str] | None,
    out: Path | None,
    style: Sequence[str] = (),
    claims: Path | None = None,
    columns: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> list[Analysis]:
    """Render the grids of results folders, and return their analyses.

    kind: the format; None takes it from the ending of `out`, or prints the map and draws a PNG. Tables go to stdout and
    pictures to RESULTS/report/, unless `out` names a file, which several folders share as one figure, or a folder for
    several pictures. value: one or several values instead of the config's. style: `KEY=VALUE` options that override
    `report.style`. claims: a file of claims that replace those of the config; without `kind` and `out` only their
    verdicts are printed, and nothing is written. columns: measured columns of grid cells that CSV adds to the shown
    values, `all` for every one; LaTeX has the cells only with them. settings: `KEY=VALUE` options that override
    `report`. Raises `StoreError`, `ConfigError` and `ReportError`.
    """
    kind = format_of(out, kind, REPORT)
    if claims is not None and out is None and kind is not None and kind not in (*TEXTS, "terminal"):
        raise ReportError(f"--claims writes nothing into a results folder; give --out FILE for the format {kind}")
    if columns and kind not in ("csv", "latex"):
        raise ReportError("--columns is for the formats csv and latex; give one of them as --format")
    joint = False
    if out is not None and len(results) > 1 and (kind or "png") in PICTURES:
        joint = out.suffix.lstrip(".") in PICTURES and not out.is_dir()
        if out.is_file() and not joint:
            raise ReportError(f"{out} is a file without the ending of a picture; end --out in .png, .svg or .pdf")
        (out.parent if joint else out).mkdir(parents=True, exist_ok=True)
    analyses = [_analysis(Diagram.of(read(path), value, settings), style, claims) for path in results]
    if claims is not None and kind is None and out is None:
        for analysis in analyses:
            sys.stdout.write("".join(f"{claim.sentence}\n" for claim in analysis.claims))
    elif kind in TEXTS:
        text = TEXTS[kind](analyses, columns)
        _ = sys.stdout.write(text) if out is None else write(out, text.encode())
    elif kind == "html":
        from recovery.report.page import report_page  # imported here, because matplotlib is slow to import

        _save(report_page(analyses).encode(), analyses[0].diagram, analyses[0].diagram.name, "html", out)
    elif kind == "terminal" and out is not None:
        buffer = StringIO()
        _print_maps(analyses, PIPE_WIDTH, buffer)
        write(out, buffer.getvalue().encode())
    else:
        _print_maps(analyses, None if sys.stdout.isatty() else PIPE_WIDTH)
        if kind != "terminal":
            _draw(analyses, kind or "png", out, joint)
    return analyses


def _draw(analyses: list[Analysis], kind: str, out: Path | None, joint: bool) -> None:
    """Write the pictures of each analysis or, if `joint`, one figure of all, in the format `kind`."""
    from recovery.report.figures import drawings, joint_figure, render  # imported here, because matplotlib is slow

    if joint:
        _save(render(joint_figure(analyses), kind), analyses[0].diagram, "", kind, out)
        return
    for analysis, name in zip(analyses, _names(analyses), strict=True):
        for beside, drawing in drawings(analysis).items():
            _save(render(drawing.draw(), kind), analysis.diagram, name, kind, out, beside)


def _names(analyses: Sequence[Analysis]) -> list[str]:
    """Return a name for the pictures of each grid: its sweep's, or, if some are equal, its folder's."""
    for names in ([one.diagram.name for one in analyses], [one.diagram.grid.path.resolve().name for one in analyses]):
        if len({*names}) == len(names):
            return names
    return [f"{name}-{number}" for number, name in enumerate(names, start=1)]


def _analysis(diagram: Diagram, style: Sequence[str], claims: Path | None) -> Analysis:
    """Return the analysis with options of `report.style`, and claims of a file, if given. Raises `ConfigError`."""
    sweep, spec = diagram.sweep, diagram.sweep.report
    given = sweep.claims if claims is None else read_claims(claims, sweep.axes, diagram.grid.columns)
    report_spec = replace(spec, style=overridden(spec.style, style, "--style"))
    return Analysis(replace(diagram, sweep=replace(sweep, report=report_spec, claims=given)))


def _print_maps(analyses: list[Analysis], width: int | None, file: IO[str] | None = None) -> None:
    from rich.console import Console  # imported here, because only maps in the terminal need rich

    from recovery.report.texts.terminal import print_diagram

    for analysis in analyses:
        print_diagram(analysis, Console(file=file, width=width))


def _save(data: bytes, diagram: Diagram, name: str, suffix: str, out: Path | None, beside: str = "") -> None:
    """Write an output file, and print its path: `out` if it names a file, otherwise made of `name`, the values and
    `suffix`, in the folder `out` or in RESULTS/report. beside: the name of an additional figure, for its file."""
    place = out
    if place is None or place.is_dir():
        values = "-".join(str(one.quantity) for one in diagram.one_by_one)
        file = re.sub(r"[^\w.-]+", "_", f"{name}-{values}").strip("_")
        place = (place or diagram.grid.path / "report") / f"{file}.{suffix}"
    if beside:
        place = place.with_name(f"{name}-{beside}{place.suffix}")
    sys.stdout.write(f"{write(place, data, diagram.grid.path if out is None else None)}\n")
