"""Two yes-or-no outcomes of the same trials, cell by cell, with McNemar's exact test.

Where one recovers and the other does not, the draw is the same: only the discordant trials speak, and if neither
outcome were likelier, each would fall to either side with probability 1/2.
"""

from dataclasses import dataclass

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.stats import binomtest

from recovery.report.diagram.diagram import Diagram, Panel
from recovery.report.diagram.quantity import as_numbers, finished
from recovery.report.figures.figure import edges, plain
from recovery.report.figures.style import ONE_COLUMN, RC, TWO_COLUMNS
from recovery.types import Array

DIFFERENCES = "PuOr_r"
"""A diverging scale that colour-blind readers can tell apart."""
LEVEL = 0.05
WORDS = {"convex_recovered": "convex", "recovered": "training"}
"""What the outcomes are called on the figure."""


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p-value of `only_first` against Binomial(only_first + only_second, 1/2); 1 with none."""
    discordant = only_first + only_second
    return float(binomtest(only_first, discordant, 0.5).pvalue) if discordant else 1.0


@dataclass(frozen=True)
class Pairs:
    """The four counts of a set of trials; trials where either outcome is open or failed are left out."""

    both: int
    only_first: int
    only_second: int
    neither: int

    @classmethod
    def of(cls, first: Array, second: Array) -> "Pairs":
        """Count pairs of 1 (yes), 0 (no) and NaN (open)."""
        counts = [int(np.sum((first == a) & (second == b))) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
        return cls(*counts)

    @property
    def total(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float:
        """Fraction of the first less that of the second; NaN without pairs."""
        return (self.only_first - self.only_second) / self.total if self.total else float("nan")

    @property
    def p_value(self) -> float:
        return mcnemar(self.only_first, self.only_second)


def pair_cells(frame: pd.DataFrame, code: Array, cells: int, first: str, second: str) -> pd.DataFrame:
    """The pairs of each cell: one row a cell, in the order of the codes (see `recovery.report.diagram.cells.Cells`)."""
    a, b = (np.where(finished(frame), as_numbers(frame[name]), np.nan) for name in (first, second))
    found = [Pairs.of(a[code == cell], b[code == cell]) for cell in range(cells)]
    names = ("both", "only_first", "only_second", "neither", "total", "difference", "p_value")
    return pd.DataFrame({name: [getattr(pairs, name) for pairs in found] for name in names})


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
                edges(panel.x), edges(panel.y), _matrix(panel, part["difference"]), cmap=DIFFERENCES, vmin=-1, vmax=1
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


def _matrix(panel: Panel, values: "pd.Series[float]") -> Array:
    result = np.full((len(panel.y), len(panel.x)), np.nan)
    result[panel.cells["iy"], panel.cells["ix"]] = values.to_numpy(dtype=float)
    return np.ma.masked_invalid(result)


def _middle(borders: Array) -> Array:
    return (borders[1:] + borders[:-1]) / 2
