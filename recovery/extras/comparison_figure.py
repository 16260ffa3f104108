"""A comparison as a figure: second less first, and a ring around the cells that differ."""

from typing import Any

from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.extras.comparison import FDR, Comparison
from recovery.report.diagram import Axis
from recovery.report.figures.map import draw_cells
from recovery.report.figures.names import axis_label, plain, where_label
from recovery.report.figures.sheet import panel_sheet

DIFFERENCES = "RdBu_r"
"""Red for more in the second grid, blue for less, white for neither: told apart without red or green cones."""
RING: dict[str, Any] = {"marker": "o", "ms": 3, "mfc": "none", "mec": "black", "mew": 0.7, "linestyle": "none"}


def draw_difference(comparison: Comparison) -> Figure:
    """One panel a combination of the axes other than x and y; a scale symmetric about 0, blue for less."""
    layout, panels, reach = comparison.first.layout, comparison.panels, comparison.reach
    with panel_sheet(comparison.first, panels, comparison.title) as page:
        for i, (panel, ax) in enumerate(zip(panels, page.axes, strict=True)):
            mesh = draw_cells(ax, panel, panel.matrix("difference"), Normalize(-reach, reach), DIFFERENCES)
            ring = panel.cells[panel.cells["q"] <= FDR]
            ax.plot(Axis(panel.x).at[ring["ix"]], Axis(panel.y).at[ring["iy"]], **RING)
            page.name(i, where_label(panel.where))
        page.label(axis_label(layout.x), axis_label(layout.y) if panels[0].y != [None] else "")
        page.bar(mesh, f"difference in {plain(comparison.first.quantity.label)}")
        label = f"differs, false-discovery rate {FDR:.0%} ({len(comparison.different)} cells)"
        page.add([Line2D([], [], label=label, **RING)])
    return page.figure
