"""The commands `recover report` and `recover bundle`, for the command line and for scripts."""

import json
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import pyarrow as pa

from recovery import __version__
from recovery.config import user_code_in
from recovery.config.header import build_style
from recovery.config.load import read_claims
from recovery.config.sweep import plain_document
from recovery.errors import ReportError
from recovery.notebook import files
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.formats import BUNDLE, PICTURES, REPORT, format_of, write
from recovery.report.texts import as_csv, as_json, as_latex, as_markdown
from recovery.store import read
from recovery.store.parts import write_part
from recovery.store.round_files import ROUNDS, encode_round
from recovery.store.sweepfile import encode
from recovery.user import user_sources

TEXTS: dict[str, Callable[[list[Analysis], Sequence[str]], str]] = {
    "csv": as_csv,
    "json": lambda analyses, columns: as_json(analyses),
    "latex": as_latex,
    "markdown": as_markdown,
}
UNSHOWN = ("trial_id", "sweep", "started_at", "error_type", "error_message", "own_code", "made_by")
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every archive entry, so that equal results give equal archives."""
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
) -> list[Analysis]:
    """Render the grids of results folders, and return their analyses.

    kind: the format; None takes it from the ending of `out`, or prints the map and draws a PNG. Tables go to stdout and
    pictures to RESULTS/report/, unless `out` names a file, or a folder for several pictures. value: one or several
    values instead of the config's. style: `KEY=VALUE` options that override `report.style`. claims: a file of claims
    that replace those of the config; without `kind` and `out` only their verdicts are printed, and nothing is written.
    columns: measured columns of grid cells that CSV adds to the shown values, `all` for every one; LaTeX and Markdown
    have the cells only with them. Raises `StoreError`, `ConfigError` and `ReportError`.
    """
    kind = format_of(out, kind, REPORT)
    if claims is not None and out is None and kind is not None and kind not in (*TEXTS, "terminal"):
        raise ReportError(f"--claims writes nothing into a results folder; give --out FILE for the format {kind}")
    if columns and kind not in ("csv", "latex", "markdown"):
        raise ReportError("--columns is for the formats csv, latex and markdown; give one of them as --format")
    if out is not None and len(results) > 1 and (kind or "png") in PICTURES:
        if out.is_file() or (out.suffix.lstrip(".") in PICTURES and not out.is_dir()):
            raise ReportError(
                f"{out}: {len(results)} results folders give as many pictures; give a folder as --out, or "
                "--format html for one page"
            )
        out.mkdir(parents=True, exist_ok=True)
    read_diagram = _of_cells if kind in TEXTS else lambda path, value: Diagram.of(read(path), value)
    analyses = [Analysis(claiming(styled(read_diagram(path, value), style), claims)) for path in results]
    if claims is not None and kind is None and out is None:
        for analysis in analyses:
            sys.stdout.write("".join(f"{claim.sentence}\n" for claim in analysis.claims))
    elif kind in TEXTS and out is None:
        sys.stdout.write(TEXTS[kind](analyses, columns))
    elif kind in TEXTS and out is not None:
        write(out, TEXTS[kind](analyses, columns).encode())
    elif kind == "html":
        from recovery.report.page import report_page  # imported here, because matplotlib is slow to import

        _save(report_page(analyses).encode(), analyses[0].diagram, analyses[0].diagram.name, "html", out)
    elif kind == "terminal" and out is not None:
        buffer = StringIO()
        _print_maps(analyses, PIPE_WIDTH, buffer)
        write(out, buffer.getvalue().encode())
    else:
        if kind not in PICTURES:
            _print_maps(analyses, None if sys.stdout.isatty() else PIPE_WIDTH)
        for analysis, name in [] if kind == "terminal" else zip(analyses, _names(analyses), strict=True):
            _draw(analysis, name, kind or "png", out)
    return analyses


def _names(analyses: Sequence[Analysis]) -> list[str]:
    """Return a name for the pictures of each grid: of its sweep, or of its folder if sweeps have equal names."""
    for names in ([one.diagram.name for one in analyses], [one.diagram.grid.path.resolve().name for one in analyses]):
        if len({*names}) == len(names):
            return names
    return [f"{name}-{number}" for number, name in enumerate(names, start=1)]


def _of_cells(results: Path, value: str | Sequence[str] | None) -> Diagram:
    """Return a diagram without the columns that tables of cells do not show, which halves the memory of large grids."""
    grid = read(results)
    grid = replace(grid, table=grid.table.drop_columns([name for name in UNSHOWN if name in grid.table.column_names]))
    diagram = Diagram.of(grid, value)
    diagram = replace(diagram, grid=replace(grid, table=grid.table.schema.empty_table()))
    del grid
    pa.default_memory_pool().release_unused()
    return diagram


def bundle_results(results: Path, out: Path | None, trust: bool = False) -> None:
    """Write the archive of a results folder, and print its path.

    trust: include user code from a folder that only sweep.json names. Raises `ReportError` where that is needed.
    """
    format_of(out, "zip", BUNDLE)
    if out is not None and not out.parent.is_dir():
        raise ReportError(f"{out.parent}: no such folder; make it, or give another --out")
    analysis = Analysis(Diagram.of(read(results)))
    folder = Path(analysis.diagram.sweep.document.get("folder", ".")).resolve()
    near = any(folder.is_relative_to(place.resolve()) for place in (Path(), results))
    if user_code_in(analysis.diagram.sweep.document) and not near and not trust:
        raise ReportError(
            f"{results}: sweep.json names code in {str(folder)!r}, outside the current folder; --trust packs it"
        )
    sys.stdout.write(f"{write(out or Path(f'{analysis.diagram.name}.zip'), bundle(analysis))}\n")


def styled(diagram: Diagram, options: Sequence[str]) -> Diagram:
    """Override the diagram's `report.style` by `KEY=VALUE` options. Raises `ConfigError`."""
    if not options:
        return diagram
    spec = diagram.sweep.report
    report_spec = replace(spec, style=build_style(spec.style, options))
    return replace(diagram, sweep=replace(diagram.sweep, report=report_spec))


def claiming(diagram: Diagram, claims: Path | None) -> Diagram:
    """Replace the claims of the diagram's config by those of a file. Raises `ConfigError`."""
    if claims is None:
        return diagram
    given = read_claims(claims, diagram.sweep.axes, diagram.grid.columns)
    return replace(diagram, sweep=replace(diagram.sweep, claims=given))


def _draw(analysis: Analysis, name: str, kind: str, out: Path | None) -> None:
    """Write the main figure of a report and its other figures, and print their paths."""
    from recovery.report.figures import drawings, render

    for shown, drawing in drawings(analysis).items():
        _save(render(drawing.draw(), kind), analysis.diagram, name, kind, out, shown)


def _print_maps(analyses: list[Analysis], width: int | None, file: IO[str] | None = None) -> None:
    from rich.console import Console  # imported here, because only maps in the terminal need rich

    from recovery.report.texts.terminal import print_diagram

    for analysis in analyses:
        print_diagram(analysis, Console(file=file, width=width))


def _save(data: bytes, diagram: Diagram, name: str, suffix: str, out: Path | None, beside: str = "") -> None:
    """Write an output file, and print its path: `out` if it names a file, otherwise a name made of `name` and the
    values, in the folder `out` or in RESULTS/report. beside: the name of an additional figure next to that file."""
    place = out
    if place is None or place.is_dir():
        values = "-".join(str(one.quantity) for one in diagram.one_by_one)
        file = re.sub(r"[^\w.-]+", "_", f"{name}-{values}").strip("_")
        place = (place or diagram.grid.path / "report") / f"{file}.{suffix}"
    if beside:
        place = place.with_name(f"{name}-{beside}{place.suffix}")
    sys.stdout.write(f"{write(place, data, diagram.grid.path if out is None else None)}\n")


def bundle(analysis: Analysis) -> bytes:
    """Return a zip archive that unpacks to NAME/, which is a results folder again."""
    from recovery.report.figures import drawings, render
    from recovery.report.page import report_page

    diagram = analysis.diagram
    with TemporaryDirectory() as folder:
        part = write_part(Path(folder), diagram.grid.table)
        rows = part.read_bytes()
    drawn = {name or "figure": drawing.draw() for name, drawing in drawings(analysis).items()}
    document = json.dumps(plain_document(diagram.sweep.document), indent=2, ensure_ascii=False, default=str)
    contents: dict[str, bytes] = {
        **user_sources(user_code_in(diagram.sweep.document), Path(diagram.sweep.document.get("folder", "."))),
        **files(diagram.sweep.document.get("code", {})),
        "sweep.json": encode(diagram.grid.sweep),
        f"trials/{part.name}": rows,
        **{f"{ROUNDS}/{name}": data for name, data in map(encode_round, diagram.grid.rounds)},
        "config.json": document.encode(),
        "report/report.html": report_page([analysis]).encode(),
        "report/cells.csv": as_csv([analysis], ["all"]).encode(),
        "report/report.json": as_json([analysis]).encode(),
        **{f"report/{name}.{kind}": render(drawn[name], kind) for name in drawn for kind in ("png", "svg", "pdf")},
        "CITATION.cff": citation(analysis).encode(),
        "README.md": readme(analysis).encode(),
    }
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in contents.items():
            file.writestr(zipfile.ZipInfo(f"{diagram.name}/{name}", EPOCH), data, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def citation(analysis: Analysis) -> str:
    """Return the CITATION.cff of an archive (format 1.2.0); text is quoted as JSON, which is valid YAML."""
    diagram = analysis.diagram
    finished = diagram.frame["started_at"].max() if "started_at" in diagram.frame else None
    day = finished.date() if finished is not None and finished == finished else date(1980, 1, 1)
    lines = [
        "cff-version: 1.2.0",
        "type: dataset",
        "message: If you use these results, cite them and the program that made them.",
        f"title: {json.dumps(f'{diagram.title} ({diagram.name})', ensure_ascii=False)}",
        "authors:",
        "  - name: the authors of recover",
        f"date-released: {day.isoformat()}",
        "references:",
        "  - type: software",
        "    title: recover, the laboratory for phase transitions in neural-network recovery",
        "    authors:",
        "      - name: the authors of recover",
        f"    version: {json.dumps(__version__)}",
    ]
    if diagram.sweep.source:
        lines.append(f"notes: {json.dumps('Reproduces ' + diagram.sweep.source, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def readme(analysis: Analysis) -> str:
    """Return the README of an archive: its content, and the commands that use it."""
    name, code = analysis.diagram.name, user_code_in(analysis.diagram.sweep.document)
    note = f"\nThe archive includes user code: `cd {name}`, then `recover verify . --trust`.\n" if code else ""
    return (
        f"# {name}\n\n"
        f"`sweep.json` and `trials/` are a results folder of recover {__version__}; `report/` shows it.\n\n"
        f"    recover report {name}                         draw it again\n"
        f"    recover verify {name}                         run some of its trials again\n"
        f"    recover sweep {name}/config.json --out again  run all of them again\n{note}"
    )
