"""Comparisons of sweeps as a figure, and as one HTML page without external resources."""

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
from recovery.extras.comparison_words import after, before, tables
from recovery.report.diagram import NOT_MEASURED, Axis, lettered
from recovery.report.figures.map import draw_cells
from recovery.report.figures.sheet import panel_sheet
from recovery.report.figures.style import MATH, plain, script_of
from recovery.report.page import document, table
from recovery.report.page.cell_values import rounded
from recovery.report.page.encodings import Json, colour, coordinate, ordinal, strokes
from recovery.report.page.page import GRIDS, MAPS

DIFFERENCES = "RdBu_r"
"""Diverging colour map, visible to colour-blind readers: red if the second sweep has more, blue if less."""
RING: dict[str, Any] = {"marker": "o", "ms": 3, "mfc": "none", "mec": "black", "mew": 0.7, "linestyle": "none"}
MOST_ROWS = 1000
"""Largest number of grid cells in the page's table; the CSV file has all of them."""
COLUMNS = ("first", "second", "difference", "low", "high", "trials", "gained", "lost", "p", "q")


def draw_differences(comparisons: Sequence[Comparison]) -> Figure:
    """Draw the differences as maps, one panel per comparison and combination of the axes other than x and y."""
    first, layout = comparisons[0].first, comparisons[0].first.layout
    drawn = [(one, panel) for one in comparisons for panel in one.panels]
    reach, alone = max(one.reach for one in comparisons), len(comparisons) == 1
    # the grid of panels that the config requests has places for the panels of one comparison only, so several do not
    # use it
    if not alone:
        first = replace(first, layout=replace(layout, columns=None))
    title = comparisons[0].title if alone else f"differences from {comparisons[0].names[0]}"
    with panel_sheet(first, [panel for _, panel in drawn], title) as sheet:
        for i, ((one, panel), ax) in enumerate(zip(drawn, sheet.axes, strict=True)):
            mesh = draw_cells(ax, panel, panel.matrix("difference"), Normalize(-reach, reach), DIFFERENCES)
            ring = panel.cells[panel.cells["q"] <= FDR]
            ax.plot(Axis(panel.x).at[ring["ix"]], Axis(panel.y).at[ring["iy"]], **RING)
            where = [] if alone else [plain(one.names[1])]
            sheet.name(i, ", ".join([*where, *filter(None, [MATH.title(panel.where)])]))
        up = all(panel.y != [None] for _, panel in drawn)
        script = script_of(first)
        sheet.label(script.axis(layout.x), script.axis(layout.y) if up else "")
        sheet.bar(mesh, f"difference in {plain(first.quantity.label)}")
        sheet.add([Line2D([], [], label=_ring_label(comparisons), **RING)])
    return sheet.figure


def _ring_label(comparisons: Sequence[Comparison]) -> str:
    cells = sum(len(comparison.different) for comparison in comparisons)
    return f"differs, false-discovery rate {FDR:.0%} ({cells} cells)"


def comparison_page(comparisons: Sequence[Comparison]) -> str:
    """Return the HTML page of comparisons; a control selects the comparison that the maps show."""
    alone = len(comparisons) == 1
    title = comparisons[0].title if alone else f"Differences from {comparisons[0].names[0]}"
    described = [f"<p>{escape(line)}</p>" for line in before(comparisons)]
    for name, heads, rows in tables(comparisons):
        numbers = tuple(range(len(heads) - 4, len(heads)))
        escaped = [[escape(cell) for cell in row] for row in rows]
        described += [f"<h2>{escape(name)}</h2>", table(heads, escaped, numbers)]
    described += [f"<p>{escape(line)}</p>" for line in after(comparisons)]
    body = [
        '<a class="skip" href="#cells-differ">Skip the maps</a>',
        f"<h1>{escape(title)}</h1>",
        *described,
        f'<p class="soft">Test in each cell: {_tests(comparisons)}. A ring marks a cell that differs at a '
        f"false-discovery rate of {FDR:.0%} over all cells (Benjamini and Yekutieli, under any dependence).</p>",
        *([] if alone else [f'<div class="controls">{GRIDS}</div>']),
        MAPS,
        '<h2 id="cells-differ">Grid cells, smallest q first</h2>',
        _cells(comparisons),
        "<h2>Sweeps</h2>",
        _sweeps(comparisons),
    ]
    return document(title, body, {"grids": [_payload(one) for one in comparisons], "charts": []})


def _tests(comparisons: Sequence[Comparison]) -> str:
    """Name the tests that were used in the grid cells."""
    proportion = comparisons[0].first.proportion
    words = {
        (True, True): "McNemar's exact test on pairs of trials with the same draws",
        (True, False): "Fisher's exact test",
        (False, True): "the exact sign test on pairs of trials with the same draws",
        (False, False): "none, because trials are not paired",
    }
    used = {comparison.paired: words[proportion, comparison.paired] for comparison in comparisons}
    return "; for unpaired sweeps ".join(used[paired] for paired in sorted(used, reverse=True))


def _payload(comparison: Comparison) -> Json:
    """Return the grid cells as data for the page's script, as `page.payload` does for a diagram."""
    panels, layout, script = comparison.panels, comparison.first.layout, comparison.first.script
    cells = pd.concat([panel.cells for panel in panels])
    keys = [coordinate(script, layout.x, panels[0].x)]
    places = {layout.x: cells["ix"].tolist()}
    if layout.y is not None and panels[0].y != [None]:
        keys.append(coordinate(script, layout.y, panels[0].y))
        places[layout.y] = cells["iy"].tolist()
    for name in layout.panels:
        values = list(dict.fromkeys(panel.where[name] for panel in panels))
        keys.append(coordinate(script, name, values))
        places[name] = [values.index(panel.where[name]) for panel in panels for _ in range(len(panel.cells))]
    title = f"difference in {comparison.first.quantity.label}"
    scales = {"linear": {"colour": colour(title, (-comparison.reach, comparison.reach), "linear", DIFFERENCES)}}
    look = {"of": "difference", "name": "difference", "label": title, "scales": scales, "ends": [], "headings": []}
    words, different = _ring_label([comparison]), np.flatnonzero(cells["q"] <= FDR).tolist()
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
                **{name: [] for name in ("half", "points", "contour", "theory", "band", "printed")},
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
                "columns": {"difference": rounded(cells["difference"].to_numpy(dtype=float))},
                "looks": [look],
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
    """Return the facts that the page shows for a grid cell, as (name, column)."""
    facts = [
        ("difference", "difference"),
        ("from", "low"),
        ("to", "high"),
        (comparison.names[0], "first"),
        (comparison.names[1], "second"),
        ("pairs" if comparison.paired else "trials of the smaller", "trials"),
    ]
    if comparison.paired:
        facts += [("pairs larger in the second", "gained"), ("pairs larger in the first", "lost")]
    return [*facts, ("exact p", "p"), ("q, all cells together", "q")]


def _cells(comparisons: Sequence[Comparison]) -> str:
    """Return an HTML table of the grid cells, smallest q first, at most `MOST_ROWS`."""
    every, keys = stacked(comparisons), list(dict.fromkeys(key for one in comparisons for key in one.keys))
    alone = len(comparisons) == 1
    columns = [*([] if alone else ["grid"]), *keys, *(name for name in COLUMNS if name in every)]
    shown = every.sort_values(["q", "p"], kind="stable").head(MOST_ROWS)
    rows = [[escape(_short(value)) for value in row] for row in shown[columns].itertuples(index=False, name=None)]
    names = {"grid": "sweep", "first": comparisons[0].names[0], "second": comparisons[0].names[1] if alone else "other"}
    note = f'<p class="soft">The first {len(rows)} of {len(every)}; `recover compare --out FILE.csv` writes all.</p>'
    numbers = tuple(range(columns.index("first"), len(columns)))
    return (note if len(every) > len(rows) else "") + table([names.get(name, name) for name in columns], rows, numbers)


def _short(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "none" if np.isnan(value) else f"{value:.4g}"
    return str(value)


def _sweeps(comparisons: Sequence[Comparison]) -> str:
    """Return an HTML table of the sweeps, and the command that makes the page."""
    one = comparisons[0]
    named = [(one.names[0], one.first), *((other.names[1], other.second) for other in comparisons)]
    rows = [[escape(name), escape(d.title), escape(str(d.sweep.seed)), str(d.totals["ok"])] for name, d in named]
    folders = " ".join(shlex.quote(d.grid.path.as_posix()) for _, d in named)
    command = f"recover compare {folders} --value {shlex.quote(str(one.first.quantity))} --out comparison.html"
    return table(["sweep", "title", "seed", "finished trials"], rows) + f"<pre>{escape(command)}</pre>"
