"""The gallery of shipped figures in Markdown: one page per paper with thumbnails, figures, claims and run times.

README.md leads to the pages. All of them are made from the results folders stored next to them.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader
from tabulate import tabulate

from recovery.config import Even, from_document, load
from recovery.errors import RecoverError
from recovery.report.claims import Analysis
from recovery.report.claims.result import VERDICTS, ClaimResult
from recovery.report.diagram import Diagram
from recovery.report.figures import drawings, render
from recovery.report.figures.bars import Bars
from recovery.report.figures.forest import values_of
from recovery.report.figures.kinds import is_told
from recovery.runner.plan import Plan, plan
from recovery.store import read
from recovery.store.folder import Folder
from recovery.store.row_schema import FINISHED
from recovery.text import duration

PAPERS = {
    "P1": "Overparameterized ReLU neural networks learn the simplest model",
    "P2": "On the dynamics of learning linear functions with neural networks",
    "P3": "Provable identifiability of two-layer ReLU neural networks via LASSO regularization",
    "P4": "Efficient algorithms for learning depth-2 neural networks with general ReLU activations",
}
OURS = "ours"
"""Name of the page of figures that are not from a paper."""
IN_A_ROW = 4
"""Thumbnails per row."""
PICTURES = "pictures"
DOTS = 220
THUMBNAIL = 200
"""Width of a thumbnail in pixels."""


@dataclass(frozen=True)
class Extent:
    """How much of a shipped config is stored: planned, stored and finished trials, and a description."""

    full: int
    stored: int = 0
    ok: int = 0
    words: str = "not run"

    @classmethod
    def of(cls, plan: Plan, replicates: int) -> "Extent":
        """Count the stored trials of a plan for a whole shipped config; rows of other trials do not count."""
        cells = np.bincount(plan.trials.cell[~plan.unstored], minlength=len(plan.trials.cells))
        stored, low, high = int(cells.sum()), int(cells.min()), int(cells.max())
        words = f"unfinished: {100 * stored // plan.sweep.size or 'under 1'} % of its trials"
        if not stored:
            words = "not run"
        elif not plan.unstored.any() and plan.next_round is None:
            words = "full"
        elif isinstance(plan.sweep.sampling, Even):
            share = f"reduced: {low}" if low == high else f"{words}, {low} to {high}"
            words = f"{share} of {replicates} replicates"
        return cls(plan.sweep.size, stored, sum(plan.counts[status] for status in FINISHED), words)


@dataclass(frozen=True)
class Shown:
    """A figure of the gallery. Without anything to draw it has no pictures; remark: why it cannot be drawn, or empty.

    pictures: (file, text alternative) of each picture. numbers: a Markdown table of grid cells in place of the main
    picture, if a table suffices. seconds: total run time of the stored trials.
    """

    name: str
    title: str
    source: str
    folder: Path
    size: Extent
    seconds: float = 0.0
    command: str = ""
    pictures: tuple[tuple[str, str], ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    numbers: str = ""
    remark: str = ""


def figure_plan(name: str, out: Path, most: int | None = None) -> Plan:
    """Plan at most `most` replicates per grid cell (None: all), but not fewer than the folder was planned with before.

    Raises `StoreError` if the folder `out` belongs to another sweep.
    """
    sweep, folder = load(name), Folder(out)
    before = from_document(folder.load()["config"]).replicates if folder.exists() else 0
    wanted = max(min(most or sweep.replicates, sweep.replicates), before)
    if wanted != sweep.replicates and isinstance(sweep.sampling, Even):
        sweep = load(name, [f"replicates={wanted}"])
    return plan(sweep, out)


def show(name: str, place: Path) -> Shown:
    """Read the results folder `place`/NAME of a shipped config, and draw its pictures into `place`.

    If it cannot be read or drawn, the remark of the returned entry says why.
    """
    folder = place / name
    sweep = load(name)
    head, size = (name, sweep.title, sweep.source, folder), Extent(sweep.size)
    try:
        size = Extent.of(figure_plan(name, folder), sweep.replicates)
        if not size.stored:
            return Shown(*head, size)
        analysis = Analysis(Diagram.of(read(folder)))
        planned, seconds = analysis.diagram.sweep.replicates, float(analysis.diagram.frame["seconds"].sum())
        command = f"recover sweep {name}" + ("" if planned == sweep.replicates else f" --set replicates={planned}")
        pictures = []
        for suffix, drawing in drawings(analysis, told=True).items():
            file = f"{PICTURES}/{'-'.join(filter(None, [name, suffix]))}.png"
            (place / file).write_bytes(render(drawing.draw(), "png", DOTS))
            pictures.append((file, drawing.words))
        numbers = _numbers(analysis) if is_told(analysis) else ""
        return Shown(*head, size, seconds, command, tuple(pictures), tuple(analysis.claims), numbers)
    except RecoverError as error:
        return Shown(*head, size, remark=str(error))


def _numbers(analysis: Analysis) -> str:
    """Return a Markdown table of the shown values in each grid cell, with the ends of their bars."""
    parts = [list(values_of(one)) for one in analysis.diagram.one_by_one]
    heads, rows = ["", *(part[0].what for part in parts), "trials"], list[list[str]]()
    for ones in zip(*parts, strict=True):
        ends = [f" ({one.found.ends('.3g')})" if one.found.low < one.found.high else "" for one in ones]
        shown = [f"{one.estimate}{words}" for one, words in zip(ones, ends, strict=True)]
        rows.append([ones[0].panel, *shown, str(ones[0].trials)])
    return f"{_table(heads, rows)}\nIn brackets: {Bars.of(analysis.diagram, analysis.diagram.table).words}.\n"


def write_gallery(names: Sequence[str], place: Path) -> list[Shown]:
    """Draw these shipped configs from their results folders `place`/NAME, and write pages and pictures into `place`."""
    (place / PICTURES).mkdir(parents=True, exist_ok=True)
    shown = [show(name, place) for name in names]
    for file, text in gallery_pages(shown, place).items():
        (place / file).write_text(text, encoding="utf-8")
    return shown


def gallery_pages(shown: Sequence[Shown], place: Path) -> dict[str, str]:
    """Return file name -> text: README.md with a line per paper, and a page for each paper."""
    env = Environment(loader=PackageLoader("recovery.extras", ""), trim_blocks=True, keep_trailing_newline=True)
    page = partial(env.get_template("gallery.jinja").render, duration=duration, relpath=os.path.relpath, place=place)
    pages, papers = dict[str, str](), list[list[str]]()
    page_of = {one.name: p if (p := one.name.split("-")[0].upper()) in PAPERS else OURS for one in shown}
    for paper in (*PAPERS, OURS):
        if not (ones := [one for one in shown if page_of[one.name] == paper]):
            continue
        heads, rows = gallery_table(ones)
        figures = [one for one in ones if one.pictures or one.numbers]
        named = {one.name: f"[{one.name}](#{one.name})" for one in figures}
        pages[f"{paper}.md"] = page(
            title=(title := f"{paper}: {PAPERS[paper]}" if paper in PAPERS else "Questions of ours"),
            summary=in_short(ones),
            thumbnails=_thumbnails([one for one in figures if one.pictures]),
            figures=figures,
            table=_table(heads, [[named.get(name, name), *rest] for name, *rest in rows]),
        )
        full, time = sum(one.size.words == "full" for one in ones), duration(sum(one.seconds for one in ones))
        papers.append([f"[{title}]({paper}.md)", str(len(ones)), str(full), time, *_counts(ones)])
    table = _table(["page", "figures", "full", "one core", *VERDICTS], papers)
    return {"README.md": page(front=True, title="Figures of the papers", summary=in_short(shown), table=table), **pages}


def gallery_table(shown: Sequence[Shown]) -> tuple[list[str], list[list[str]]]:
    """Return headers, and a row per figure with its size, its run time and the verdicts of its claims."""
    heads = ["figure", "source", "size", "trials", "one core", *VERDICTS, "remarks"]
    rows = [
        [
            one.name,
            one.source,
            one.size.words,
            f"{one.size.stored} of {one.size.full}" if one.size.full else "",
            duration(one.seconds) if one.size.stored else "",
            *_counts([one]),
            one.remark or (f"failed trials: {failed}" if (failed := one.size.stored - one.size.ok) else ""),
        ]
        for one in shown
    ]
    return heads, rows


def in_short(shown: Sequence[Shown]) -> str:
    """Summarise in three sentences the verdicts of the claims, the sizes of the figures, and their total run time."""
    sizes, verdicts = Counter(one.size.words.split(":")[0] for one in shown), _verdicts(shown)
    others = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS if verdict != "supported")
    return (
        f"{verdicts['supported']} of {verdicts.total()} claims agree with the measurement ({others}). "
        f"{len(shown)} figures: {', '.join(f'{count} {size}' for size, count in sizes.most_common())}. "
        f"Time: {duration(sum(one.seconds for one in shown))} of one core."
    )


def _verdicts(shown: Iterable[Shown]) -> Counter[str]:
    return Counter(claim.verdict for one in shown for claim in one.claims)


def _counts(shown: Iterable[Shown]) -> list[str]:
    verdicts = _verdicts(shown)
    return [str(verdicts[verdict] or "") for verdict in VERDICTS]


def _thumbnails(drawn: Sequence[Shown]) -> str:
    """Return a Markdown table of thumbnails that link to their figures, `IN_A_ROW` per row."""
    cells = []
    for one in drawn:
        (picture, words), *_ = one.pictures
        image = f'<img src="{picture}" width="{THUMBNAIL}" alt="{escape(words)}">'
        counted = ", ".join(f"{count} {name}" for name, count in zip(VERDICTS, _counts([one]), strict=True) if count)
        cells.append(f"[{image}](#{one.name})<br>[{one.name}](#{one.name})<br>{counted or 'no claims'}")
    rows = [cells[start : start + IN_A_ROW] for start in range(0, len(cells), IN_A_ROW)]
    return _table([""] * min(IN_A_ROW, len(cells)), rows) if cells else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in rows]
    return tabulate(cells, headers=heads, tablefmt="github", disable_numparse=True) + "\n"
