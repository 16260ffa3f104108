"""Grids in a notebook: `recovery.read("results/x")` shows its diagram; `.chart()` and `.plot()` give it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.figures import draw_into, main_figure, main_kind, render
from recovery.store import Grid

if TYPE_CHECKING:
    from altair import ConcatChart


class Results:
    """A stored grid with its report: `frame`, `sweep`, `cells()`, `thresholds()`, `claims()`, `plot()`, `chart()`."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @property
    def frame(self) -> pd.DataFrame:
        """The rows, one a trial."""
        return self.grid.frame

    @property
    def sweep(self) -> dict[str, Any]:
        """The content of sweep.json."""
        return self.grid.sweep

    def analysis(self, value: str | Sequence[str] | None = None) -> Analysis:
        """Everything that is estimated; `value` is a column or COLUMN<=NUMBER, by default the config's. Of several, the
        first is estimated, and figures show all side by side."""
        return Analysis(Diagram.of(self.grid, value))

    def cells(self, value: str | None = None) -> pd.DataFrame:
        """One row a cell, with its counts."""
        return self.analysis(value).diagram.table

    def thresholds(self, value: str | None = None) -> pd.DataFrame:
        """One row a panel: n/d at 50 %, its interval, how it changes with d, and all of it in words."""
        return pd.DataFrame(self.analysis(value).thresholds())

    def claims(self) -> pd.DataFrame:
        """The config's claims beside what the grid says."""
        return pd.DataFrame([vars(claim) for claim in self.analysis().claims])

    def plot(self, value: str | Sequence[str] | None = None, ax: Axes | None = None, panel: int = 0) -> Figure:
        """The diagram as a matplotlib figure, which a notebook shows; with `ax`, one panel of it drawn there."""
        analysis = self.analysis(value)
        if ax is None:
            return main_figure(analysis)[1].draw()
        draw_into(ax, analysis, panel)
        figure = ax.get_figure(root=True)
        assert figure is not None, "an Axes that stands in no figure"
        return figure

    def chart(self, value: str | None = None) -> "ConcatChart":
        """The diagram as an Altair chart: where it is pointed at, it shows the cell's numbers."""
        from recovery.report.page.chart import chart  # Altair takes half a second to import

        analysis = self.analysis(value)
        return chart(analysis, main_kind(analysis))

    def _repr_png_(self) -> bytes:
        return render(self.plot(), "png")

    def __repr__(self) -> str:
        found = self.analysis().diagram.summary() if len(self.grid.table) else "empty"
        return f"{self.grid.path}: {found}"
