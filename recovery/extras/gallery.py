"""A gallery of stored figures as one Markdown page: each with its claims, how it was made, and what it took."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from PIL import Image
from tabulate import tabulate

from recovery.config import Even, MissingFileError, load
from recovery.errors import RecoverError
from recovery.extras.reproduction import Figure
from recovery.report.claims import Analysis
from recovery.report.claims.result import ClaimResult
from recovery.report.diagram import Diagram
from recovery.report.figures import drawings, render
from recovery.runner.plan import Plan
from recovery.store import read
from recovery.text import duration

PICTURES = "pictures"
DOTS = 220
COLOURS = 128
"""Of a picture, which is a third as large as with all."""
VERDICTS = {"holds": "hold", "contradicted": "contradicted", "cannot tell": "open", "not tested": "not tested"}
"""Verdict on a claim -> head of the column that counts it."""


@dataclass(frozen=True)
class Extent:
    """How much of a shipped config is stored: rows, those of them that are measurements, and in words."""

    full: int
    stored: int = 0
    ok: int = 0
    words: str = "not run"

    @classmethod
    def of(cls, plan: Plan, replicates: int) -> "Extent":
        """Of a plan of all that is shipped, with so many replicates; by the trials' ids, so that others count for
        nothing."""
        cells = dict.fromkeys((cell.id for cell in plan.sweep.cells), 0)
        for trial in plan.trials:
            cells[trial.cell.id] += trial.id in plan.stored
        return cls(plan.sweep.size, sum(cells.values()), plan.counts["ok"], _in_words(plan, cells, replicates))


def _in_words(plan: Plan, cells: dict[str, int], replicates: int) -> str:
    stored, low, high = sum(cells.values()), min(cells.values()), max(cells.values())
    if not stored:
        return "not run"
    if not plan.missing and plan.next_round is None:
        return "full"
    share = f"unfinished: {100 * stored // plan.sweep.size or 'under 1'} % of its trials"
    if not isinstance(plan.sweep.sampling, Even):
        return share
    if low == high:
        return f"reduced: {low} of {replicates} replicates"
    return f"{share}, {low} to {high} of {replicates} replicates"


@dataclass(frozen=True)
class Shown:
    """What is stored of a figure; no pictures where nothing can be drawn, and then a `remark` if anything is stored."""

    name: str
    title: str
    source: str
    folder: Path
    size: Extent
    seconds: float = 0.0
    command: str = ""
    pictures: tuple[tuple[str, str], ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    remark: str = ""

    @property
    def verdicts(self) -> Counter[str]:
        return Counter(claim.verdict for claim in self.claims)


def write_gallery(names: Sequence[str], place: Path) -> list[Shown]:
    """Draw what is stored of these shipped configs in `place`/NAME, and write README.md and its pictures into `place`.

    A grid that cannot be read or drawn is an entry that says why.
    """
    (place / PICTURES).mkdir(parents=True, exist_ok=True)
    shown = [_shown(name, place) for name in names]
    (place / "README.md").write_text(gallery_page(shown, place), encoding="utf-8")
    return shown


def _shown(name: str, place: Path) -> Shown:
    folder = place / name
    try:
        sweep = load(name)
    except MissingFileError as error:
        remark = f"its data file is not there; `recover check {name}` says what it must hold"
        return Shown(name, error.title, error.source, folder, Extent(0, words="needs a file"), remark=remark)
    head, size = (name, sweep.title, sweep.source, folder), Extent(sweep.size)
    if not folder.is_dir():
        return Shown(*head, size)
    try:
        size = Extent.of(Figure(name, folder).plan(), sweep.replicates)
        if not size.stored:
            return Shown(*head, size)
        analysis = Analysis(Diagram.of(read(folder)))
        planned, seconds = analysis.diagram.sweep.replicates, float(analysis.diagram.frame["seconds"].sum())
        command = f"recover sweep {name}" + ("" if planned == sweep.replicates else f" --set replicates={planned}")
        pictures = []
        for suffix, drawing in drawings(analysis).items():
            file = f"{PICTURES}/{'-'.join(filter(None, [name, suffix]))}.png"
            (place / file).write_bytes(with_few_colours(render(drawing.draw(), "png", DOTS)))
            pictures.append((file, drawing.words))
        return Shown(*head, size, seconds, command, tuple(pictures), tuple(analysis.claims))
    except RecoverError as error:
        return Shown(*head, size, remark=str(error))


def with_few_colours(png: bytes) -> bytes:
    small = BytesIO()
    Image.open(BytesIO(png)).convert("RGB").quantize(COLOURS).save(small, "png", optimize=True)
    return small.getvalue()


def gallery_table(shown: Sequence[Shown]) -> tuple[list[str], list[list[str]]]:
    """The heads, and a row for each figure: its size, its time, and how many of its claims hold."""
    heads = ["figure", "source", "size", "trials", "one core", *VERDICTS.values(), "remarks"]
    rows = [
        [
            one.name,
            one.source,
            one.size.words,
            f"{one.size.stored} of {one.size.full}" if one.size.full else "",
            duration(one.seconds) if one.size.stored else "",
            *(str(one.verdicts[verdict] or "") for verdict in VERDICTS),
            one.remark or (f"failed trials: {failed}" if (failed := one.size.stored - one.size.ok) else ""),
        ]
        for one in shown
    ]
    return heads, rows


def in_short(shown: Sequence[Shown]) -> str:
    """How many figures there are at which size, how their claims fare, and what all took."""
    sizes = Counter(one.size.words.split(":")[0] for one in shown)
    verdicts = sum((one.verdicts for one in shown), Counter[str]())
    return (
        f"{len(shown)} figures: {', '.join(f'{count} {size}' for size, count in sizes.most_common())}. "
        f"Claims: {', '.join(f'{verdicts[verdict]} {head}' for verdict, head in VERDICTS.items())}. "
        f"Time: {duration(sum(one.seconds for one in shown))} of one core."
    )


def gallery_page(shown: Sequence[Shown], place: Path) -> str:
    """The table of all figures, and an entry for each that has a picture."""
    heads, rows = gallery_table(shown)
    linked = [
        [f"[{one.name}](#{one.name})" if one.pictures else one.name, *rest]
        for one, (_, *rest) in zip(shown, rows, strict=True)
    ]
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in linked]
    parts = [
        "# Figures of the papers\n",
        "Made by `recover reproduce` from the grids beside this page; nothing here is typed in.\n",
        in_short(shown) + "\n",
        "`full` is the config that ships, which has the paper's numbers where it gives them; `reduced` has fewer "
        "replicates of every cell, `unfinished` has cells with fewer than others. Claims are those that the configs "
        "state, judged on what is stored: `open` is what a grid cannot tell, `not tested` is left to the eye.\n",
        tabulate(cells, headers=heads, tablefmt="github", disable_numparse=True) + "\n",
        *(_entry(one, place) for one in shown if one.pictures),
    ]
    return "\n".join(parts)


def _entry(one: Shown, place: Path) -> str:
    folder = os.path.relpath(one.folder, place)
    lines = [f"## {one.name}\n", f"{one.title}. {one.source}. Size: {one.size.words}.\n"]
    lines += [f"![{words}]({file})\n" for file, words in one.pictures]
    lines += [
        f"- **{claim.verdict}**: {claim.stated.removesuffix('.')}{f' ({claim.source})' if claim.source else ''}."
        + (f" Measured: {claim.measured}." if claim.verdict != "not tested" else "")
        for claim in one.claims
    ]
    lines += [] if one.claims else ["The config states nothing that could be tested."]
    took = f"{one.size.stored} trials, {duration(one.seconds)} of one core"
    lines.append(f"\n`{one.command}`: {took}; the grid is in `{folder}`.\n")
    return "\n".join(lines)
