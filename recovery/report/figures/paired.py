"""Two yes-or-no outcomes of the same trials, cell by cell, with McNemar's exact test.

Where one recovers and the other does not, the draw is the same: only the discordant trials speak, and if neither
outcome were likelier, each would fall to either side with probability 1/2.
"""

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram import Diagram
from recovery.report.figures.figure import edges, plain
from recovery.report.figures.style import ONE_COLUMN, RC, TWO_COLUMNS
from recovery.report.statistics import Pairs, pair_cells
from recovery.types import Array

DIFFERENCES = "PuOr_r"
"""A diverging scale that colour-blind readers can tell apart."""
LEVEL = 0.05
WORDS = {"convex_recovered": "convex", "recovered": "training"}
"""What the outcomes are called on the figure."""


def can_pair(diagram: Diagram, first: str = "convex_recovered", second: str = "recovered") -> bool:
    """Whether some trial measured both outcomes."""
    frame = diagram.frame
    return first in frame and second in frame and bool((frame[first].notna() & frame[second].notna()).any())


def draw_paired(diagram: Diagram, first: str = "convex_recovered", second: str = "recovered") -> Figure:
    """A panel a combination of the axes: orange where only the first recovers, purple where only the second does.

    A dot marks a cell whose own exact test is below 5 %; titles have the discordant pairs of the panel and their test.
    """
    cells = diagram.cells
    table = pair_cells(diagram.frame, cells.code, len(cells.keys), first, second)
    panels = diagram.panels
    one, other = (WORDS.get(name, plain(name)) for name in (first, second))
    across = 1 if len(panels) == 1 else 2
    up = -(-len(panels) // across)
    width = ONE_COLUMN if across == 1 else TWO_COLUMNS
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, width / across * 0.8 * up + 0.9), layout="constrained")
        axes = figure.subplots(up, across, sharex=True, sharey=True, squeeze=False)
        for letter, panel, ax in zip("abcdefghijklmnopqrstuvwxyz" * 9, panels, axes.flat, strict=False):
            part = table.loc[panel.cells.index]
            mesh = ax.pcolormesh(
                edges(panel.x),
                edges(panel.y),
                np.ma.masked_invalid(panel.matrix(part["difference"])),
                cmap=DIFFERENCES,
                vmin=-1,
                vmax=1,
            )
            sure = (part["p_value"] < LEVEL).to_numpy()
            x, y = edges(panel.x), edges(panel.y)
            at = panel.cells[sure]
            ax.plot(_middle(x)[at["ix"]], _middle(y)[at["iy"]], "o", color="black", markersize=1.6)
            whole = Pairs(*(int(part[name].sum()) for name in ("both", "only_first", "only_second", "neither")))
            name = f"({letter}) {panel.title}\n" if panel.title else ""
            counts = f"{one} {whole.only_first}, {other} {whole.only_second}"
            ax.set_title(f"{name}{counts}, p = {whole.p_value:.2g}", loc="left")
            ax.set_xlabel(diagram.layout.x)
            ax.set_ylabel(diagram.layout.y or "")
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_axis_off()
        label = f"fraction recovered: {one} less {other}"
        figure.colorbar(mesh, ax=axes, label=label, shrink=0.8, aspect=24, pad=0.015)
        label = "exact test below 5 %; in titles, trials that one alone recovers"
        dot = Line2D([], [], color="black", linestyle="none", marker="o", markersize=3, label=label)
        figure.legend(handles=[dot], loc="outside lower center")
        figure.suptitle(plain(diagram.title), fontsize=9)
    return figure


def _middle(borders: Array) -> Array:
    return (borders[1:] + borders[:-1]) / 2
