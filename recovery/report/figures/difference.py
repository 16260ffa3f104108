"""A comparison as a figure: second less first, and a ring around the cells that differ."""

from math import ceil

import matplotlib
import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.figures.figure import edges, letters, plain, positions
from recovery.report.figures.style import ONE_COLUMN, RC, TWO_COLUMNS
from recovery.report.statistics import FDR, Comparison

DIFFERENCES = "RdBu_r"
"""Red for more in the second grid, blue for less, white for neither: told apart without red or green cones."""


def draw_difference(found: Comparison) -> Figure:
    """One panel a combination of the axes other than x and y; a scale symmetric about 0, blue for less."""
    layout, panels = found.first.layout, found.panels
    up = layout.y if panels[0].y != [None] else None
    across = 1 if len(panels) == 1 else 2
    tall = ceil(len(panels) / across)
    width = ONE_COLUMN if across == 1 else TWO_COLUMNS
    reach = float(np.abs(found.cells["difference"]).max()) or 1.0
    x, y = panels[0].x, panels[0].y
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, width / across * 0.74 * tall + 0.8), layout="constrained")
        axes = figure.subplots(tall, across, sharex=True, sharey=True, squeeze=False)
        for i, (panel, ax) in enumerate(zip(panels, axes.flat, strict=False)):
            values = panel.matrix("difference")
            mesh = ax.pcolormesh(
                edges(x), edges(y), np.ma.masked_invalid(values), cmap=DIFFERENCES, norm=Normalize(-reach, reach)
            )
            mesh.set_edgecolor("face")
            mesh.set_linewidth(0.15)
            ring = panel.cells[panel.cells["q"] <= FDR]
            ax.plot(
                positions(x)[ring["ix"]],
                positions(y)[ring["iy"]],
                "o",
                ms=3,
                mfc="none",
                mec="black",
                mew=0.7,
            )
            if panel.title:
                ax.set_title(f"({letters(i)}) {plain(panel.title)}", loc="left")
            ax.set_xlabel(layout.x)
            ax.set_ylabel(up or "")
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_axis_off()
        figure.colorbar(mesh, ax=axes, label=f"difference in {plain(found.first.quantity.label)}", aspect=24, pad=0.015)
        figure.suptitle(plain(f"{found.second.name} less {found.first.name}"), fontsize=9)
        label = f"differs, false-discovery rate {FDR:.0%} ({len(found.different)} cells)"
        ring_key = Line2D([], [], marker="o", ms=3, mfc="none", mec="black", mew=0.7, linestyle="none", label=label)
        figure.legend(handles=[ring_key], loc="outside lower center")
    return figure
