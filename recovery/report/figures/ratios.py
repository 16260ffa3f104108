"""Fractions against n/d, a colour a size d: for grids whose n are multiples of d, which make poor maps."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.claims import Analysis, caption
from recovery.report.diagram import INTERVAL, POOLED, Diagram
from recovery.report.diagram.axis import Axis
from recovery.report.figures.sheet import interval_handle, label_log, not_measured, panel_sheet
from recovery.report.figures.style import MATH, line_style
from recovery.report.statistics import poolable, wilson

FULL = 0.6
"""Of the rectangle of n and d that all panels share, the least part that their cells should fill."""


def is_ragged(diagram: Diagram) -> bool:
    """Whether the cells of a proportion over n and d leave most of the rectangle between them empty."""
    if not poolable(diagram):
        return False
    planned = diagram.sweep.combinations((*diagram.layout.panels, "n", "d"))
    reached = diagram.table[[*diagram.layout.panels, "n", "d"]].itertuples(index=False, name=None)
    cells = {*planned, *reached}
    room = len(diagram.panels) * len({n for *_, n, _ in cells}) * len({d for *_, d in cells})
    return len(cells) < FULL * room


def draw_ratios(analysis: Analysis) -> Figure:
    """Panels as in the map; Wilson intervals as bars, the pooled threshold's interval as a grey band."""
    diagram = analysis.diagram
    panels = [diagram.panels[i] for i in diagram.drawn]
    with panel_sheet(diagram, panels, aspect=0.8, share="y") as page:
        ratios = Axis(
            sorted({n / d for panel in panels for n, d in zip(panel.cells["n"], panel.cells["d"], strict=True)})
        )
        keys = []
        for place, (i, ax) in enumerate(zip(diagram.drawn, page.axes, strict=True)):
            keys.append(draw_fractions(ax, analysis, i))
            if ratios.kind == "log" and ax.lines:
                ax.set_xscale("log")
                ax.set_xlim(ratios.reach)
                label_log(ax.xaxis, *ratios.reach)
            page.name(place, MATH.where(diagram.panels[i].where), caption(analysis.pooled[i]))
        page.label(MATH.axis("n/d"), diagram.measured_label)
        found = {str(h.get_label()): h for handles in keys for h in handles}
        last = {MATH.marked(POOLED): 1, INTERVAL: 2}
        page.add(found[label] for label in sorted(found, key=lambda label: (last.get(label, 0), len(label), label)))
    return page.figure


def draw_fractions(ax: Axes, analysis: Analysis, i: int) -> list[Any]:
    """One panel: fractions against n/d, a line a size d; hands back the entries of a key."""
    first = analysis.diagram.panels[0]
    sizes = list(first.y if analysis.diagram.layout.y == "d" else first.x)
    panel, found = analysis.diagram.panels[i], analysis.pooled[i]
    ax.set_ylim(-0.05, 1.05)
    if panel.undefined or not len(panel.cells):
        if panel.undefined:
            not_measured(ax)
        ax.set_xticks([])
        return []
    if np.isfinite([found.given.estimate, found.given.low, found.given.high]).all():
        ax.axvspan(found.given.low, found.given.high, color="0.85", zorder=0, label=MATH.marked(POOLED))
    for k, d in enumerate(sizes):
        cells = panel.cells[(panel.cells["d"] == d) & (panel.cells["yes"] + panel.cells["no"] > 0)].sort_values("n")
        if not len(cells):
            continue
        low, high = wilson(cells["yes"], cells["no"])
        value = cells["value"].to_numpy(dtype=float)
        bars = [np.maximum(value - low, 0), np.maximum(high - value, 0)]
        look: dict[str, Any] = {"ms": 2.5, "lw": 0.8, "elinewidth": 0.6, **line_style(k)}
        ax.errorbar(cells["n"] / d, value, yerr=bars, marker="o", label=f"$d$ = {d:g}", **look)
    return [*ax.get_legend_handles_labels()[0], interval_handle(INTERVAL)]
