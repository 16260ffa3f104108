"""A gallery of stored grids as one Markdown page: each figure with its claims, how it was made, and what it took."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from recovery.errors import RecoverError
from recovery.report.claims import Analysis
from recovery.report.claims.result import ClaimResult
from recovery.report.diagram import Diagram
from recovery.report.figures import figures_beside, main_figure, render
from recovery.runner.progress import duration
from recovery.store import read

PICTURES = "pictures"
DOTS = 110


@dataclass(frozen=True)
class Wanted:
    """A figure of the gallery: the name of its config, how many trials it has at full size, and its results folder."""

    name: str
    title: str
    source: str
    full: int
    folder: Path


@dataclass(frozen=True)
class Shown:
    """What is stored of a figure; no pictures where nothing can be drawn, and then `why`."""

    wanted: Wanted
    stored: int
    seconds: float
    pictures: tuple[tuple[str, str], ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    why: str = ""

    @property
    def size(self) -> str:
        if not self.stored:
            return "not run"
        return "full" if self.stored >= self.wanted.full else f"{100 * self.stored / self.wanted.full:.2g} %"

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(claim.verdict for claim in self.claims)


def write_gallery(wanted: Sequence[Wanted], place: Path) -> list[Shown]:
    """Draw every grid that is stored, and write README.md and its pictures into the folder `place`.

    A grid that cannot be read or drawn is an entry that says why.
    """
    (place / PICTURES).mkdir(parents=True, exist_ok=True)
    shown = [_shown(one, place) for one in wanted]
    (place / "README.md").write_text(gallery_page(shown, place), encoding="utf-8")
    return shown


def _shown(one: Wanted, place: Path) -> Shown:
    if not one.folder.is_dir():
        return Shown(one, 0, 0.0)
    try:
        analysis = Analysis(Diagram.of(read(one.folder)))
        stored, seconds = len(analysis.diagram.frame), float(analysis.diagram.frame["seconds"].sum())
        drawings = {"": main_figure(analysis)[1], **figures_beside(analysis)}
        pictures = []
        for suffix, drawing in drawings.items():
            file = f"{PICTURES}/{one.name}{'-' if suffix else ''}{suffix}.png"
            (place / file).write_bytes(render(drawing.draw(), "png", DOTS))
            pictures.append((file, drawing.words))
        return Shown(one, stored, seconds, tuple(pictures), tuple(analysis.claims))
    except RecoverError as error:
        return Shown(one, 0, 0.0, why=str(error))


def gallery_page(shown: list[Shown], place: Path) -> str:
    """The table of all figures, and an entry for each that has a picture."""
    rows = [
        [
            f"[{one.wanted.name}](#{one.wanted.name})" if one.pictures else one.wanted.name,
            one.wanted.source,
            one.size,
            f"{one.stored} of {one.wanted.full}",
            duration(one.seconds) if one.stored else "",
            *(one.verdicts[verdict] or "" for verdict in ("holds", "contradicted", "cannot tell")),
            one.why,
        ]
        for one in shown
    ]
    heads = ["figure", "source", "size", "trials", "one core", "hold", "contradicted", "open", ""]
    total = duration(sum(one.seconds for one in shown))
    parts = [
        "# Figures of the papers, as they are stored here\n",
        f"{sum(one.size == 'full' for one in shown)} of {len(shown)} at full size; {total} of one core in all. "
        "Where a config has fewer trials stored than it plans, its size says so. Claims are those that the configs "
        "state; `open` is what these grids cannot tell.\n",
        _table(rows, heads),
        *(_entry(one, place) for one in shown if one.pictures),
    ]
    return "\n".join(parts)


def _entry(one: Shown, place: Path) -> str:
    folder = os.path.relpath(one.wanted.folder, place)
    lines = [f"## {one.wanted.name}\n", f"{one.wanted.title}. {one.wanted.source}.\n"]
    lines += [f"![{words}]({file})\n" for file, words in one.pictures]
    rows = [[claim.stated, claim.measured, claim.verdict, claim.source] for claim in one.claims]
    if rows:
        heads = ["stated", "measured", "verdict", "source"]
        lines.append(_table(rows, heads))
    lines.append(
        f"`recover sweep {one.wanted.name}`: {one.stored} of {one.wanted.full} trials, {duration(one.seconds)} of one "
        f"core; the grid is in `{folder}`.\n"
    )
    return "\n".join(lines)


def _table(rows: Sequence[Sequence[object]], heads: Sequence[str]) -> str:
    cells = [[str(cell).replace("|", r"\|") for cell in row] for row in rows]
    return tabulate(cells, headers=heads, tablefmt="github", disable_numparse=True) + "\n"
