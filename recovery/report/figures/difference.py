"""A comparison as a figure: second less first, and a ring around the cells that differ."""

from math import ceil
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram.diagram import describe
from recovery.report.diagram.layout import ordered
from recovery.report.figures.figure import edges, letters, plain, positions
from recovery.report.figures.style import ONE_COLUMN, RC, TWO_COLUMNS
from recovery.report.statistics.compare import FDR, Comparison

DIFFERENCES = "RdBu_r"
"""Red for more in the second grid, blue for less, white for neither: told apart without red or green cones."""


def draw_difference(found: Comparison) -> Figure:
    """One panel a combination of the axes other than x and y; a scale symmetric about 0, blue for less."""
    layout, cells = found.first.layout, found.cells
    up = layout.y if layout.y in cells else None
    others = [name for name in found.keys if name not in (layout.x, up)]
    groups: list[tuple[Any, pd.DataFrame]] = [((), cells)]
    if others:
        groups = list(cells.groupby(others, dropna=False))
    across = 1 if len(groups) == 1 else 2
    tall = ceil(len(groups) / across)
    width = ONE_COLUMN if across == 1 else TWO_COLUMNS
    reach = float(np.abs(cells["difference"]).max()) or 1.0
    x = ordered(cells[layout.x], None)
    y = ordered(cells[up], None) if up else [None]
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, width / across * 0.74 * tall + 0.8), layout="constrained")
        axes = figure.subplots(tall, across, sharex=True, sharey=True, squeeze=False)
        for i, ((key, part), ax) in enumerate(zip(groups, axes.flat, strict=False)):
            values = np.full((len(y), len(x)), np.nan)
            ix = [x.index(v) for v in part[layout.x]]
            iy = [y.index(v) for v in part[up]] if up else [0] * len(part)
            values[iy, ix] = part["difference"]
            mesh = ax.pcolormesh(
                edges(x), edges(y), np.ma.masked_invalid(values), cmap=DIFFERENCES, norm=Normalize(-reach, reach)
            )
            mesh.set_edgecolor("face")
            mesh.set_linewidth(0.15)
            ring = (part["q"] <= FDR).to_numpy()
            ax.plot(
                positions(x)[np.array(ix)[ring]],
                positions(y)[np.array(iy)[ring]],
                "o",
                ms=3,
                mfc="none",
                mec="black",
                mew=0.7,
            )
            if others:
                where = describe(dict(zip(others, key, strict=True)))
                ax.set_title(f"({letters(i)}) {plain(where)}", loc="left")
            ax.set_xlabel(layout.x)
            ax.set_ylabel(up or "")
        for ax in list(axes.flat)[len(groups) :]:
            ax.set_axis_off()
        figure.colorbar(mesh, ax=axes, label=f"difference in {plain(found.first.quantity.label)}", aspect=24, pad=0.015)
        figure.suptitle(plain(f"{found.second.name} less {found.first.name}"), fontsize=9)
        label = f"differs, false-discovery rate {FDR:.0%} ({len(found.different)} cells)"
        ring_key = Line2D([], [], marker="o", ms=3, mfc="none", mec="black", mew=0.7, linestyle="none", label=label)
        figure.legend(handles=[ring_key], loc="outside lower center")
    return figure
