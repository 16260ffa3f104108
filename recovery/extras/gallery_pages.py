"""A gallery in Markdown: one page a paper, thumbnails first, and README.md that leads to them."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from recovery.extras.gallery import PICTURES, Shown, show, thumbnail
from recovery.report.claims.result import VERDICTS
from recovery.text import duration

PAPERS = {
    "P1": "Overparameterized ReLU neural networks learn the simplest model",
    "P2": "On the dynamics of learning linear functions with neural networks",
    "P3": "Provable identifiability of two-layer ReLU neural networks via LASSO regularization",
    "P4": "Efficient algorithms for learning depth-2 neural networks with general ReLU activations",
}
OURS = "ours"
"""The page of the figures that are no paper's."""
IN_A_ROW = 4
SIZES = (
    "`full` is the config that ships, which has the paper's numbers where it gives them. `reduced` has fewer "
    "replicates of every cell, `unfinished` has cells with fewer than others.\n"
)
OPEN = (
    "Claims are those that the configs state, judged on the stored rows. A claim that the rows do not decide is "
    "`inconclusive`; a statement without a test is `not tested`.\n"
)


def paper_of(name: str) -> str:
    """The page of a shipped config."""
    paper = name.split("-")[0].upper()
    return paper if paper in PAPERS else OURS


def write_gallery(names: Sequence[str], place: Path) -> list[Shown]:
    """Draw what is stored of these shipped configs in `place`/NAME, and write the pages and pictures into `place`."""
    (place / PICTURES / "small").mkdir(parents=True, exist_ok=True)
    shown = [show(name, place) for name in names]
    for file, text in gallery_pages(shown, place).items():
        (place / file).write_text(text, encoding="utf-8")
    return shown


def gallery_pages(shown: Sequence[Shown], place: Path) -> dict[str, str]:
    """File -> text: README.md with a line for each paper, and a page for each of these."""
    of = {paper: [one for one in shown if paper_of(one.name) == paper] for paper in (*PAPERS, OURS)}
    of = {paper: ones for paper, ones in of.items() if ones}
    return {"README.md": _front(of)} | {f"{paper}.md": _page(paper, ones, place) for paper, ones in of.items()}


def gallery_table(shown: Sequence[Shown]) -> tuple[list[str], list[list[str]]]:
    """The heads, and a row for each figure: its size, its time, and how many of its claims hold."""
    heads = ["figure", "source", "size", "trials", "one core", *VERDICTS, "remarks"]
    rows = [
        [
            one.name,
            one.source,
            one.size.words,
            f"{one.size.stored} of {one.size.full}" if one.size.full else "",
            duration(one.seconds) if one.size.stored else "",
            *_counts(one.verdicts),
            one.remark or (f"failed trials: {failed}" if (failed := one.size.stored - one.size.ok) else ""),
        ]
        for one in shown
    ]
    return heads, rows


def in_short(shown: Sequence[Shown]) -> str:
    """How many figures there are at which size, how their claims fare, and what all took."""
    sizes = Counter(one.size.words.split(":")[0] for one in shown)
    verdicts = _verdicts(shown)
    return (
        f"{len(shown)} figures: {', '.join(f'{count} {size}' for size, count in sizes.most_common())}. "
        f"Claims: {', '.join(f'{verdicts[verdict]} {verdict}' for verdict in VERDICTS)}. "
        f"Time: {duration(sum(one.seconds for one in shown))} of one core."
    )


def _verdicts(shown: Sequence[Shown]) -> Counter[str]:
    return sum((one.verdicts for one in shown), Counter[str]())


def _counts(verdicts: Counter[str]) -> list[str]:
    return [str(verdicts[verdict] or "") for verdict in VERDICTS]


def _title(paper: str) -> str:
    return f"{paper}: {PAPERS[paper]}" if paper in PAPERS else "Questions of ours"


def _front(of: dict[str, list[Shown]]) -> str:
    rows = [
        [
            f"[{_title(paper)}]({paper}.md)",
            str(len(ones)),
            str(sum(one.size.words == "full" for one in ones)),
            duration(sum(one.seconds for one in ones)),
            *_counts(_verdicts(ones)),
        ]
        for paper, ones in of.items()
    ]
    heads = ["page", "figures", "full", "one core", *VERDICTS]
    return "\n".join(
        [
            "# Figures of the papers\n",
            "Made by `recover reproduce` from the grids beside this page; nothing here is typed in.\n",
            in_short([one for ones in of.values() for one in ones]) + "\n",
            _table(heads, rows),
            SIZES,
            OPEN,
        ]
    )


def _page(paper: str, shown: Sequence[Shown], place: Path) -> str:
    heads, rows = gallery_table(shown)
    linked = [
        [f"[{one.name}](#{one.name})" if one.pictures else one.name, *rest]
        for one, (_, *rest) in zip(shown, rows, strict=True)
    ]
    drawn = [one for one in shown if one.pictures]
    parts = [
        f"# {_title(paper)}\n",
        in_short(shown) + "\n",
        _thumbnails(drawn),
        *(_entry(one, place) for one in drawn),
        "## All figures in one table\n",
        _table(heads, linked),
        SIZES,
        OPEN,
    ]
    return "\n".join(part for part in parts if part)


def _thumbnails(drawn: Sequence[Shown]) -> str:
    """A table of pictures: the code host shows it as it is, the site lets its cells flow."""
    cells = []
    for one in drawn:
        (picture, words), *_ = one.pictures
        counted = ", ".join(f"{count} {verdict}" for verdict in VERDICTS if (count := one.verdicts[verdict]))
        lines = [
            f"[![{words}]({thumbnail(picture)})](#{one.name})",
            f"[{one.name}](#{one.name})",
            counted or "no claims",
        ]
        cells.append("<br>".join(lines))
    rows = [cells[start : start + IN_A_ROW] for start in range(0, len(cells), IN_A_ROW)]
    return _table([""] * min(IN_A_ROW, len(cells)), rows) if cells else ""


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in rows]
    return tabulate(cells, headers=heads, tablefmt="github", disable_numparse=True) + "\n"


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
