"""The data of a diagram's charts as JSON: coordinates, panels, values of the grid cells, thresholds and theory."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.path import Path

from recovery.interval import LEVEL, percent
from recovery.report.claims import Analysis, contour
from recovery.report.diagram import (
    NOT_MEASURED,
    PLAIN,
    PRINTED,
    UNFINISHED,
    Axis,
    Cells,
    Diagram,
    lettered,
    lines,
    pooled_words,
    theory_along,
    unfinished_words,
)
from recovery.report.figures.map import crossing_label, half_crossings
from recovery.report.page.cell_values import MOST_MARKS, Gathered, choices, mark
from recovery.report.page.encodings import THEMES, Json, coordinate, coordinates, ordinal, rounded_to, series, strokes
from recovery.report.statistics.means import printed_numbers
from recovery.types import Array

MOST_IDS = 50_000
"""Grids with more trials than this list the ids of failed trials only."""
RATIO = {"of": "n"}
"""The coordinate n/d replaces n, because n follows from n/d and d."""
STROKE, CROSS = "M-0.7,0.7L0.7,-0.7", "M-0.7,0.7L0.7,-0.7M-0.7,-0.7L0.7,0.7"
PIXELS = 111.0
"""Extent to which a line is scaled before matplotlib simplifies it. matplotlib allows an error of 1/9 pixel, here a
thousandth of the extent, which is a third of a pixel in a usual panel."""


def payload(analysis: Analysis, kind: str, every: bool = True) -> Json:
    """Return the data of one grid, whose first view is its main figure: `map`, `profile`, or `ratios` along n/d.

    Lists with an entry per grid cell are ordered by panel. every: include all measured values, not only the one shown.
    """
    diagram = analysis.diagram
    layout = diagram.layout
    order = np.concatenate([panel.cells.index.to_numpy() for panel in diagram.panels])
    column = Gathered(order)
    keys, places = coordinates(diagram)
    if kind == "ratios":
        ratios = np.unique(_ratio(places, keys))
        keys.append(RATIO | coordinate(diagram.script, "n/d", ratios))
        places["n/d"] = np.searchsorted(ratios, _ratio(places, keys))
    counts = diagram.cells.counts()
    shown = choices(diagram, column, kind, every)
    own = shown[0]["looks"][0]
    reach = next(iter(own["scales"].values()))["height"]["scale"]["domain"]
    panels = [
        _panel(analysis, i)
        | {
            "theory": _theory(diagram, i, reach) if kind == "profile" else [],
            "printed": _printed(diagram, i) if kind == "profile" else [],
            "band": _band(analysis, i) if kind == "ratios" else [],
        }
        for i in range(len(diagram.panels))
    ]
    plane = [
        {"x": x, "y": y, "k": k, "part": part, "label": line.label, "secondary": line.secondary}
        for part, line in enumerate(lines(diagram))
        for k, (x, y) in enumerate(_finite(simplified(line.points).tolist()))
    ]
    return {
        "name": diagram.name,
        "title": diagram.heading,
        "path": diagram.grid.path.as_posix(),
        "keys": keys,
        "plane": [layout.x, layout.y],
        "x": "n/d" if kind == "ratios" else layout.x,
        "y": "d" if kind == "ratios" else layout.y,
        "form": "map" if kind == "map" else "curves",
        "places": {name: place.tolist() for name, place in places.items()},
        **_spans(diagram),
        "panels": panels,
        **{name: column(counts[name]) for name in ("trials", "ok", "failed", "missing")},
        "choices": shown,
        "pairs": column.finish(),
        **_marks(diagram, order, panels, shown),
        "lines": plane,
        "strokes": {"map": _strokes(plane), "curves": _strokes([row for panel in panels for row in panel["theory"]])},
        "alone": {theme: series([own["label"]], theme) for theme in THEMES},
        "notes": {"unmeasured": NOT_MEASURED, "empty": "no trials yet", "level": percent(LEVEL)},
        "certificates": _certificates(diagram, column),
        "ids": _ids(diagram.cells, order),
    }


def simplified(points: Array) -> Array:
    """Drop those points of a line (k, 2) that make no visible difference on linear or, if all are positive, log axes.

    This is matplotlib's simplification, except that the last point always stays.
    """
    scales = [points, np.log(points)] if (points > 0).all() else [points]
    if len(points) < 3 or not np.isfinite(points).all():
        return points
    kept = np.zeros(len(points), dtype=bool)
    kept[[0, -1]] = True
    for scaled in scales:
        extent = np.ptp(scaled, axis=0)
        pixels = (scaled - scaled.min(axis=0)) / np.where(extent > 0, extent, 1.0) * PIXELS
        clean = Path(pixels).cleaned(simplify=True).vertices
        kept[[int(np.argmin(((pixels - vertex) ** 2).sum(axis=1))) for vertex in np.asarray(clean)[:-1]]] = True
    return points[kept]


def _strokes(rows: list[Json]) -> Json:
    """Return the scales of colour and dash of these theory lines for each theme."""
    named = list(dict.fromkeys((row["label"], row.get("secondary", False)) for row in rows))
    return {theme: strokes(named, theme) for theme in THEMES}


def _marks(diagram: Diagram, order: Any, panels: list[Json], shown: list[Json]) -> Json:
    """Return the marks on grid cells with failed or missing trials, and set `shapes` of each choice in `shown`.

    `shapes` has two scales for the legend: without and with thresholds. `unmarked` is true if too many cells would be
    marked.
    """
    table, totals, marks, unmarked = diagram.table, diagram.totals, [], False
    unfinished = ((table["failed"] > 0) | (table["missing"] > 0)).to_numpy()[order]
    nothing = (table["ok"] == 0).to_numpy()[order]
    words = unfinished_words(totals["failed"], totals["missing"])
    for label, shape, which in ((words, STROKE, unfinished), (UNFINISHED, CROSS, nothing)):
        cells = np.flatnonzero(which)
        unmarked = unmarked or len(cells) > MOST_MARKS
        marks += [mark(label, shape, cells)] if 0 < len(cells) <= MOST_MARKS else []
    half = {point["mark"]: "circle" for panel in panels for point in panel["points"]}
    for choice in shown:
        own = {one["label"]: one["shape"] for one in (*marks, *choice["marks"])}
        choice["shapes"] = [ordinal(own), ordinal(own | half)]
    return {"marks": marks, "unmarked": unmarked}


def _panel(analysis: Analysis, i: int) -> Json:
    """Return title, number of grid cells, and threshold crossings of panel i in the plane of the diagram.

    An open end of an interval is drawn to the end of the axis.
    """
    diagram, panel = analysis.diagram, analysis.diagram.panels[i]
    drawn, words = diagram.drawn, crossing_label(analysis, i)
    across = not diagram.along.transposed
    axes = {"x": Axis(panel.x), "y": Axis(panel.y)}
    along, other = ("x", "y") if across else ("y", "x")
    half, points, title = list[Json](), list[Json](), analysis.diagram.script.title(panel.where)
    for k, crossing in half_crossings(analysis, i) if axes[along].kind != "even" else []:
        first, last = (float(axes[along].values[end]) for end in (0, -1))
        low = crossing.low if np.isfinite(crossing.low) else min(first, crossing.high)
        high = crossing.high if np.isfinite(crossing.high) else max(last, crossing.low)
        ((middle, low, high),) = _finite([[crossing.estimate, low, high]])
        at = float(axes[other].at[k])
        half.append({along: low, f"{along}2": high, other: at, f"{other}2": at})
        points.append({along: middle, other: at, "mark": words})
    return {
        "title": lettered(drawn.index(i), len(drawn), title) if i in drawn else title,
        "name": title,
        "caption": analysis.caption(i),
        "cells": len(panel.cells),
        "half": half,
        "points": points,
        "contour": [
            {"x": float(x), "y": float(y), "k": k, "part": part}
            for part, line in enumerate(contour(analysis, i))
            for k, (x, y) in enumerate(line)
        ],
    }


def _band(analysis: Analysis, i: int) -> list[Json]:
    """Return the interval of the pooled threshold n/d of panel i as one row; empty without an estimate."""
    if analysis.diagram.along.pool != "n/d" or not analysis.pooled or not analysis.pooled[i].interval.known:
        return []
    interval, label = analysis.pooled[i].interval, PLAIN.marked(pooled_words(analysis.diagram.along, analysis.levels))
    return [{"x": low, "x2": high, "label": label} for low, high in _finite([[interval.low, interval.high]])]


def _finite(rows: list[list[Any]]) -> list[list[float]]:
    """Return the rows whose numbers are all finite, rounded to 3 decimals beyond 1 and otherwise to 9."""
    return [
        [round(float(value), 3 if abs(value) > 1 else 9) for value in row] for row in rows if np.isfinite(row).all()
    ]


def _theory(diagram: Diagram, i: int, reach: list[float]) -> list[Json]:
    """Return the theory of panel i along x for each value of y; a ratio is a vertical line over `reach`."""
    rows, part, panel = list[Json](), 0, diagram.panels[i]
    for k, y in enumerate(panel.y):
        axis, present = Axis(panel.x), np.sort(panel.cells.loc[panel.cells["iy"] == k, "ix"].to_numpy())
        if axis.kind == "even" or len(present) < 2:
            continue
        for line in theory_along(diagram, panel, y, axis.at[present], axis.kind == "log"):
            points = simplified(line.points) if len(line.points) > 1 else [[line.points[0, 0], end] for end in reach]
            for place, (x, value) in enumerate(np.asarray(points).tolist()):
                if np.isfinite(value):
                    at = {"x": rounded_to(x, 6), "y": rounded_to(value, 5)}
                    rows.append(at | {"k": place, "part": part, "label": line.label})
            part += 1
    return rows


def _printed(diagram: Diagram, i: int) -> list[Json]:
    """Return the numbers that a source prints for the shown quantity of panel i."""
    panel, rows = diagram.panels[i], list[Json]()
    at = dict(zip(panel.x, Axis(panel.x).at, strict=True))
    for k, y in enumerate(panel.y):
        cells = panel.cells[panel.cells["iy"] == k]
        look = {"series": diagram.script.words(str(diagram.layout.y), y), "label": PRINTED}
        for numbers in printed_numbers(diagram, panel, y, cells):
            places = zip((float(at[panel.x[j]]) for j in cells["ix"]), numbers, strict=True)
            rows += [{"x": x, "y": value} | look for x, value in _finite([list(place) for place in places])]
    return rows


def _spans(diagram: Diagram) -> Json:
    """Return which places on the x axis each grid cell of a refined grid covers; empty for other grids."""
    if "start" not in diagram.panels[0].cells:
        return {}
    cells = pd.concat([panel.cells for panel in diagram.panels])
    return {"spans": {name: cells[name].tolist() for name in ("start", "stop")}}


def _ratio(places: dict[str, Any], keys: list[Json]) -> Array:
    """Return n/d of every grid cell."""
    values = {key["name"]: np.array(key["values"]) for key in keys if key["name"] in ("n", "d")}
    return np.round(values["n"][places["n"]] / values["d"][places["d"]], 9)


def _certificates(diagram: Diagram, column: Gathered) -> Json:
    """Return how many trials of each grid cell each kind of certificate decided."""
    if "certificate" not in diagram.frame:
        return {}
    kinds = diagram.frame["certificate"].astype("object").where(diagram.cells.finished, None)
    names = sorted(str(kind) for kind in kinds.dropna().unique())
    return {kind: column(diagram.cells.count((kinds == kind).to_numpy(dtype=bool))) for kind in names}


def _ids(cells: Cells, order: Any) -> list[str]:
    """Return the ids of each cell's trials, joined by blanks, `!` after failed trials; large grids list only these."""
    ok = cells.finished
    listed = np.ones_like(ok) if len(cells.frame) <= MOST_IDS else ~ok
    ids = cells.frame["trial_id"].astype(str).to_numpy()[listed]
    marked = [name if fine else f"{name}!" for name, fine in zip(ids, ok[listed], strict=True)]
    joined = pd.Series(marked, dtype=object).groupby(cells.code[listed]).agg(" ".join)
    full = joined.reindex(range(len(cells.keys)), fill_value="")
    return [str(value) for value in full.to_numpy()[order]]
