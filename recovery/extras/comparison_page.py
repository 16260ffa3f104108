"""Comparisons as a figure, and as one HTML page that needs no network: each grid less the first, and what differs."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.extras.comparison import FDR, Comparison, stacked
from recovery.extras.comparison_words import HEADS, differences_in_words, summary
from recovery.report.diagram import NOT_MEASURED, Axis, lettered
from recovery.report.figures.map import draw_cells
from recovery.report.figures.sheet import panel_sheet
from recovery.report.figures.style import MATH, plain
from recovery.report.page import GRIDS, MAPS, Json, colour, coordinate, document, ordinal, rounded, strokes, table

DIFFERENCES = "RdBu_r"
"""Red for more in the second grid, blue for less, white for neither: told apart without red or green cones."""
RING: dict[str, Any] = {"marker": "o", "ms": 3, "mfc": "none", "mec": "black", "mew": 0.7, "linestyle": "none"}


def draw_differences(comparisons: Sequence[Comparison]) -> Figure:
    """One panel a comparison and combination of the axes other than x and y, on one scale symmetric about 0, blue for
    less."""
    first, layout = comparisons[0].first, comparisons[0].first.layout
    drawn = [(one, panel) for one in comparisons for panel in one.panels]
    reach, alone = max(one.reach for one in comparisons), len(comparisons) == 1
    if not alone:  # a grid of panels, as a config may ask for, has a place for each panel of one comparison
        first = replace(first, layout=replace(layout, columns=None))
    title = comparisons[0].title if alone else f"each grid less {comparisons[0].names[0]}"
    with panel_sheet(first, [panel for _, panel in drawn], title) as page:
        for i, ((one, panel), ax) in enumerate(zip(drawn, page.axes, strict=True)):
            mesh = draw_cells(ax, panel, panel.matrix("difference"), Normalize(-reach, reach), DIFFERENCES)
            ring = panel.cells[panel.cells["q"] <= FDR]
            ax.plot(Axis(panel.x).at[ring["ix"]], Axis(panel.y).at[ring["iy"]], **RING)
            where = [] if alone else [plain(one.names[1])]
            page.name(i, ", ".join([*where, *filter(None, [MATH.where(panel.where)])]))
        up = all(panel.y != [None] for _, panel in drawn)
        page.label(MATH.axis(layout.x), MATH.axis(layout.y) if up else "")
        page.bar(mesh, f"difference in {plain(first.quantity.label)}")
        page.add([Line2D([], [], label=_ring_words(comparisons), **RING)])
    return page.figure


def _ring_words(comparisons: Sequence[Comparison]) -> str:
    """What a key calls the rings."""
    cells = sum(len(comparison.different) for comparison in comparisons)
    return f"differs, false-discovery rate {FDR:.0%} ({cells} cells)"


MOST_ROWS = 1000
"""Cells in the page's table; the CSV has all."""
COLUMNS = ("first", "second", "difference", "trials", "gained", "lost", "p", "q")


def comparison_page(comparisons: Sequence[Comparison]) -> str:
    """The whole page; of several comparisons its maps show one at a time."""
    if len(comparisons) == 1:
        title = comparisons[0].title
        told = [f"<p>{escape(line)}</p>" for line in differences_in_words(comparisons[0], 0)]
    else:
        title = f"Each grid less {comparisons[0].names[0]}"
        before, rows, after = summary(comparisons)
        cells = table(list(HEADS), [[escape(cell) for cell in row] for row in rows], tuple(range(3, len(HEADS))))
        told = [f"<p>{escape(line)}</p>" for line in before]
        told += [cells, *[f'<p class="soft">{escape(line)}</p>' for line in after]]
    body = [
        '<a class="skip" href="#cells-differ">Skip the maps</a>',
        f"<h1>{escape(title)}</h1>",
        *told,
        f'<p class="soft">Each cell: {_tested(comparisons)}. A ring marks a cell that differs at a false-discovery '
        f"rate of {FDR:.0%} over all cells (Benjamini and Yekutieli, under any dependence).</p>",
        *([] if len(comparisons) == 1 else [f'<div class="controls">{GRIDS}</div>']),
        MAPS,
        '<h2 id="cells-differ">Cells, those that differ most surely first</h2>',
        _cells(comparisons),
        "<h2>The grids</h2>",
        _grids(comparisons),
    ]
    return document(title, body, {"grids": [_grid(one) for one in comparisons], "charts": []})


def _tested(comparisons: Sequence[Comparison]) -> str:
    """The tests of cells that were used."""
    proportion = comparisons[0].first.proportion
    words = {
        (True, True): "McNemar's exact test on pairs of trials with the same draws",
        (True, False): "Fisher's exact test",
        (False, True): "Wilcoxon's signed ranks, exact up to 50 pairs",
        (False, False): "not tested, for want of pairs",
    }
    used = {comparison.paired: words[proportion, comparison.paired] for comparison in comparisons}
    return "; for grids that do not pair ".join(used[paired] for paired in sorted(used, reverse=True))


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
    words, different = _ring_words([comparison]), np.flatnonzero(cells["q"] <= FDR).tolist()
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
        (comparison.names[0], "first"),
        (comparison.names[1], "second"),
        ("pairs" if comparison.paired else "trials of the smaller", "trials"),
    ]
    if comparison.paired:
        facts += [("pairs larger in the second", "gained"), ("pairs larger in the first", "lost")]
    return [*facts, ("exact p", "p"), ("q, all cells together", "q")]


def _cells(comparisons: Sequence[Comparison]) -> str:
    """The cells in a table, smallest q first."""
    every, keys = stacked(comparisons), list(dict.fromkeys(key for one in comparisons for key in one.keys))
    alone = len(comparisons) == 1
    columns = [*([] if alone else ["grid"]), *keys, *(name for name in COLUMNS if name in every)]
    shown = every.sort_values(["q", "p"], kind="stable").head(MOST_ROWS)
    rows = [[escape(_short(value)) for value in row] for row in shown[columns].itertuples(index=False, name=None)]
    called = {"first": comparisons[0].names[0], "second": comparisons[0].names[1] if alone else "grid's"}
    note = f'<p class="soft">The first {len(rows)} of {len(every)}; recover compare --out FILE.csv has all.</p>'
    numbers = tuple(range(columns.index("first"), len(columns)))
    head = [called.get(name, name) for name in columns]
    return (note if len(every) > len(rows) else "") + table(head, rows, numbers)


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "none" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def _grids(comparisons: Sequence[Comparison]) -> str:
    one = comparisons[0]
    called = [(one.names[0], one.first), *((other.names[1], other.second) for other in comparisons)]
    rows = [[escape(name), escape(d.title), escape(str(d.sweep.seed)), str(d.totals["ok"])] for name, d in called]
    folders = " ".join(shlex.quote(d.grid.path.as_posix()) for _, d in called)
    command = f"recover compare {folders} --value {shlex.quote(str(one.first.quantity))} --out comparison.html"
    return table(["grid", "title", "seed", "finished trials"], rows) + f"<pre>{escape(command)}</pre>"
