"""A comparison as a figure, and as one HTML page that needs no network: second less first, and what differs."""

import shlex
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.extras.comparison import FDR, Comparison, differences_in_words
from recovery.report.diagram import NOT_MEASURED, Axis, lettered
from recovery.report.figures.map import draw_cells
from recovery.report.figures.sheet import panel_sheet
from recovery.report.figures.style import MATH, plain
from recovery.report.page import MAPS, Json, colour, coordinate, document, ordinal, rounded, strokes, table

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
            page.name(i, MATH.where(panel.where))
        page.label(MATH.axis(layout.x), MATH.axis(layout.y) if panels[0].y != [None] else "")
        page.bar(mesh, f"difference in {plain(comparison.first.quantity.label)}")
        page.add([Line2D([], [], label=_ring_words(comparison), **RING)])
    return page.figure


def _ring_words(comparison: Comparison) -> str:
    """What a key calls the rings."""
    return f"differs, false-discovery rate {FDR:.0%} ({len(comparison.different)} cells)"


MOST_ROWS = 1000
"""Cells in the page's table; the CSV has all."""
COLUMNS = ("first", "second", "difference", "trials", "gained", "lost", "p", "q")


def comparison_page(comparison: Comparison) -> str:
    """The whole page."""
    tested = (
        "McNemar's exact test on pairs of trials with the same draws" if comparison.paired else "Fisher's exact test"
    )
    if not comparison.first.proportion:
        tested = (
            "Wilcoxon's signed ranks, exact up to 50 pairs" if comparison.paired else "not tested, for want of pairs"
        )
    body = [
        '<a class="skip" href="#cells-differ">Skip the maps</a>',
        f"<h1>{escape(comparison.title)}</h1>",
        *[f"<p>{escape(line)}</p>" for line in differences_in_words(comparison, 0)],
        f'<p class="soft">Each cell: {tested}. A ring marks a cell that differs at a false-discovery rate of '
        f"{FDR:.0%} over all cells (Benjamini and Yekutieli, under any dependence).</p>",
        MAPS,
        '<h2 id="cells-differ">Cells, those that differ most surely first</h2>',
        _cells(comparison),
        "<h2>The two grids</h2>",
        _grids(comparison),
    ]
    return document(comparison.title, body, {"grids": [_grid(comparison)], "charts": []})


def _grid(comparison: Comparison) -> Json:
    """The cells as the page's script wants them (`page.payload`)."""
    panels, layout = comparison.panels, comparison.first.layout
    cells = pd.concat([panel.cells for panel in panels])
    keys = [coordinate(layout.x, panels[0].x)]
    places = {layout.x: cells["ix"].tolist()}
    if layout.y is not None and panels[0].y != [None]:
        keys.append(coordinate(layout.y, panels[0].y))
        places[layout.y] = cells["iy"].tolist()
    for name in layout.panels:
        values = list(dict.fromkeys(panel.where[name] for panel in panels))
        keys.append(coordinate(name, values))
        places[name] = [values.index(panel.where[name]) for panel in panels for _ in range(len(panel.cells))]
    title = f"difference in {comparison.first.quantity.label}"
    scales = {"linear": {"colour": colour(title, (-comparison.reach, comparison.reach), "linear", DIFFERENCES)}}
    words, different = _ring_words(comparison), np.flatnonzero(cells["q"] <= FDR).tolist()
    rings, nothing = ordinal({words: "circle"}), strokes([], "light")
    return {
        "name": comparison.title,
        "title": comparison.title,
        "path": "",
        "keys": keys,
        "plane": [layout.x, layout.y],
        "x": layout.x,
        "y": keys[1]["name"] if len(keys) > len(layout.panels) + 1 else None,
        "form": "map",
        "places": places,
        "panels": [
            {
                "title": lettered(i, len(panels), panel.title),
                "name": panel.title,
                "caption": "",
                "cells": len(panel.cells),
                **{name: [] for name in ("half", "points", "contour", "theory", "band")},
            }
            for i, panel in enumerate(panels)
        ],
        "marks": [{"label": words, "shape": "circle", "cells": different}],
        "unmarked": False,
        "facts": [[name, [_short(value) for value in cells[column]]] for name, column in _facts(comparison)],
        "trials": [1] * len(cells),
        "choices": [
            {
                "key": "difference",
                "label": title,
                "at": None,
                "base": "difference",
                "undecided": None,
                "marks": [],
                "shapes": [rings, rings],
                "bars": {},
                "columns": {"difference": rounded(cells["difference"].to_numpy(dtype=float))},
                "looks": [{"of": "difference", "name": "difference", "label": title, "scales": scales}],
            }
        ],
        "pairs": {"of": []},
        "certificates": {},
        "ids": [],
        "lines": [],
        "strokes": {"map": {"light": nothing, "dark": nothing}},
        "alone": {},
        "notes": {"unmeasured": NOT_MEASURED, "empty": "no trials yet"},
    }


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What a cell's box says: words and the column that holds them."""
    facts = [
        ("difference", "difference"),
        (comparison.first.name, "first"),
        (comparison.second.name, "second"),
        ("pairs" if comparison.paired else "trials of the smaller", "trials"),
    ]
    if comparison.paired:
        facts += [("pairs larger in the second", "gained"), ("pairs larger in the first", "lost")]
    return [*facts, ("exact p", "p"), ("q, all cells together", "q")]


def _cells(comparison: Comparison) -> str:
    """The cells in a table, smallest q first."""
    columns = [*comparison.keys, *(name for name in COLUMNS if name in comparison.cells)]
    shown = comparison.cells.sort_values(["q", "p"], kind="stable").head(MOST_ROWS)
    rows = [[escape(_short(value)) for value in row] for row in shown[columns].itertuples(index=False, name=None)]
    head = [{"first": comparison.first.name, "second": comparison.second.name}.get(name, name) for name in columns]
    note = (
        f'<p class="soft">The first {len(rows)} of {len(comparison.cells)}; recover compare --out FILE.csv has all.</p>'
    )
    numbers = tuple(range(len(comparison.keys), len(columns)))
    return (note if len(comparison.cells) > len(rows) else "") + table(head, rows, numbers)


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "none" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def _grids(comparison: Comparison) -> str:
    rows = [
        [escape(which), escape(d.name), escape(d.title), escape(str(d.sweep.seed)), str(d.totals["ok"])]
        for which, d in (("first", comparison.first), ("second", comparison.second))
    ]
    folders = " ".join(shlex.quote(d.grid.path.as_posix()) for d in (comparison.first, comparison.second))
    command = f"recover compare {folders} --value {shlex.quote(str(comparison.first.quantity))} --out comparison.html"
    return table(["", "sweep", "title", "seed", "finished trials"], rows) + f"<pre>{escape(command)}</pre>"
