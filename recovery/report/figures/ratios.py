"""Fractions against n/d, a colour a size d: for grids whose n are multiples of d, which make poor maps."""

from math import ceil
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.claims import Analysis, brief
from recovery.report.diagram import Diagram
from recovery.report.figures.figure import heading, legend_columns, letters, name_panel
from recovery.report.figures.style import LINES, ONE_COLUMN, RC, TWO_COLUMNS
from recovery.report.statistics import poolable, wilson

FULL = 0.6
"""Of a map's rectangle of n and d, the least part that its cells should fill."""


def is_ragged(diagram: Diagram) -> bool:
    """Whether the cells of a proportion over n and d leave most of the rectangle between them empty."""
    if not poolable(diagram):
        return False
    room = sum(panel.cells["n"].nunique() * panel.cells["d"].nunique() for panel in diagram.panels)
    return len(diagram.table) < FULL * room


def draw_ratios(analysis: Analysis) -> Figure:
    """Panels as in the map; Wilson intervals as bars, the pooled threshold's interval as a grey band."""
    diagram, panels = analysis.diagram, analysis.diagram.panels
    across = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else min(3 if len(panels) <= 9 else 4, len(panels))
    up = ceil(len(panels) / across)
    width = ONE_COLUMN if across == 1 else TWO_COLUMNS
    sizes = sorted(diagram.table["d"].unique())
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, width / across * 0.8 * up + 0.8), layout="constrained")
        axes = figure.subplots(up, across, sharey=True, squeeze=False)
        for i, ax in zip(range(len(panels)), axes.flat, strict=False):
            _panel(ax, analysis, i, sizes)
            ax.set_title(brief(analysis.pooled[i]), loc="right", fontsize=6.5)
            if len(panels) > 1:
                name_panel(ax, f"({letters(i)}) {panels[i].title}", width / across)
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_axis_off()
        for ax in axes[:, 0]:
            ax.set_ylabel(f"fraction {diagram.quantity.label}")
        for i in range(max(0, len(panels) - across), len(panels)):
            axes.flat[i].set_xlabel("n/d")
        figure.suptitle(heading(diagram.title, across), fontsize=9)
        found = [pair for ax in axes.flat for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
        handles = dict(sorted(((label, handle) for handle, label in found), key=lambda pair: pair[0]))
        columns = legend_columns(list(handles), width)
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=columns)
    return figure


def _panel(ax: Axes, analysis: Analysis, i: int, sizes: list[float]) -> None:
    panel, found = analysis.diagram.panels[i], analysis.pooled[i]
    ax.set_ylim(-0.05, 1.05)
    if panel.undefined:
        ax.text(0.5, 0.5, "not measured here", transform=ax.transAxes, ha="center", va="center", color="0.35")
        ax.set_xticks([])
        return
    if not found.withdrawn and np.isfinite([found.given.low, found.given.high]).all():
        ax.axvspan(found.given.low, found.given.high, color="0.85", zorder=0, label="50 % over all d, 95 % interval")
    for k, d in enumerate(sizes):
        cells = panel.cells[(panel.cells["d"] == d) & (panel.cells["yes"] + panel.cells["no"] > 0)].sort_values("n")
        if not len(cells):
            continue
        low, high = wilson(cells["yes"], cells["no"])
        value = cells["value"].to_numpy(dtype=float)
        bars = [np.maximum(value - low, 0), np.maximum(high - value, 0)]
        style: dict[str, Any] = {"color": LINES[k % len(LINES)], "ms": 2.5, "lw": 0.8, "elinewidth": 0.6}
        ax.errorbar(cells["n"] / d, value, yerr=bars, fmt="o-", label=f"d = {d:g}", **style)
