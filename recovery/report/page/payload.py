"""A diagram as data of charts: coordinates, panels, what can be shown of each cell, thresholds and theory."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.path import Path

from recovery.interval import LEVEL, Interval, percent
from recovery.report.claims import Analysis, caption, contour
from recovery.report.diagram import (
    NOT_MEASURED,
    PLAIN,
    UNFINISHED,
    Axis,
    Cells,
    Diagram,
    half_words,
    lettered,
    lines,
    pooled_words,
    theory_along,
    unfinished_words,
)
from recovery.report.page.encodings import THEMES, Json, coordinate, coordinates, ordinal, series, strokes
from recovery.report.page.values import MOST_MARKS, Gathered, choices, mark
from recovery.report.statistics import sizes_in_words
from recovery.types import Array

MOST_IDS = 50_000
"""Grids with more trials than this list only those that failed, by cell."""
RATIO = {"of": "n"}
"""n/d stands for n, which it gives with d."""
STROKE, CROSS = "M-0.7,0.7L0.7,-0.7", "M-0.7,0.7L0.7,-0.7M-0.7,-0.7L0.7,0.7"
PIXELS = 111.0
"""matplotlib simplifies a line to a ninth of a pixel: on so many across and up, to a thousandth of its extent, which is
a third of a pixel of a usual panel."""


def payload(analysis: Analysis, kind: str, every: bool = True) -> Json:
    """One grid, first shown as its figure is: a `map`, a `profile`, or `ratios`, fractions along n/d.

    In lists with an entry a cell, cells stand panel by panel. every: all that was measured, not only what is shown.
    """
    diagram = analysis.diagram
    layout = diagram.layout
    order = np.concatenate([panel.cells.index.to_numpy() for panel in diagram.panels])
    column = Gathered(order)
    keys, places = coordinates(diagram)
    if kind == "ratios":
        ratios = np.unique(_ratio(places, keys))
        keys.append(RATIO | coordinate("n/d", ratios))
        places["n/d"] = np.searchsorted(ratios, _ratio(places, keys))
    counts = diagram.cells.counts()
    shown = choices(diagram, column, every)
    own = shown[0]["looks"][0]
    reach = next(iter(own["scales"].values()))["height"]["scale"]["domain"]
    theory = [_theory(diagram, i, reach) if kind == "profile" else [] for i in range(len(diagram.panels))]
    bands = [_band(analysis, i) if kind == "ratios" else [] for i in range(len(diagram.panels))]
    panels = [_panel(analysis, i) | {"theory": theory[i], "band": bands[i]} for i in range(len(diagram.panels))]
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
        "panels": panels,
        **{name: column(counts[name]) for name in ("trials", "ok", "failed", "missing")},
        "choices": shown,
        "pairs": column.finish(),
        **_marks(diagram, order, panels, shown),
        "lines": plane,
        "strokes": {
            "map": _strokes(plane),
            "curves": _strokes([row for rows in theory for row in rows]),
        },
        "alone": {theme: series([own["label"]], theme) for theme in THEMES},
        "notes": {"unmeasured": NOT_MEASURED, "empty": "no trials yet", "level": percent(LEVEL)},
        "certificates": _certificates(diagram, column),
        "ids": _ids(diagram.cells, order),
    }


def simplified(points: Array) -> Array:
    """A line's points, shape (k, 2), without those that no panel shows, be it straight or, where all are positive,
    logarithmic. matplotlib's measure; the last point stays, which it may move."""
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
    """How lines look on each ground."""
    named = list(dict.fromkeys((row["label"], row.get("secondary", False)) for row in rows))
    return {theme: strokes(named, theme) for theme in THEMES}


def _marks(diagram: Diagram, order: Any, panels: list[Json], shown: list[Json]) -> Json:
    """Marks on cells of failed and missing trials; for each value the shapes of its key, without thresholds and with
    them. `unmarked`: whether there were too many."""
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
    """One panel: its title, how many cells, and in the plane of the diagram where one half is crossed."""
    diagram, panel = analysis.diagram, analysis.diagram.panels[i]
    half, drawn = _half(analysis, i), diagram.drawn
    along = _along(diagram) == diagram.layout.x
    across, up = (Axis(values) for values in (panel.x, panel.y))
    if (across if along else up).kind == "even":
        half = []
    sizes = sizes_in_words(panel) if analysis.pooled else None
    jump = bool(analysis.pooled) and analysis.pooled[i].jump is not None
    words = half_words(sizes, jump, analysis.levels)
    place = (up if along else across).at

    def span(k: int, low: float, high: float) -> Json:
        """From low to high along one axis, at the k-th value of the other."""
        at = float(place[k])
        return {"x": low, "x2": high, "y": at, "y2": at} if along else {"x": at, "x2": at, "y": low, "y2": high}

    return {
        "title": lettered(drawn.index(i), len(drawn), panel.title) if i in drawn else panel.title,
        "name": panel.title,
        "caption": caption(analysis.pooled[i]) if analysis.pooled else "",
        "cells": len(panel.cells),
        "half": [span(int(k), low, high) for k, _, low, high in half],
        "points": [
            {axis: row[axis] for axis in ("x", "y")} | {"x" if along else "y": middle, "mark": words}
            for row, middle in ((span(int(k), low, high), middle) for k, middle, low, high in half)
        ],
        "contour": [
            {"x": float(x), "y": float(y), "k": k, "part": part}
            for part, points in enumerate(contour(analysis, i))
            for k, (x, y) in enumerate(points)
        ],
    }


def _band(analysis: Analysis, i: int) -> list[Json]:
    """The interval of the pooled threshold, along n/d."""
    if not analysis.pooled or not analysis.pooled[i].interval.known:
        return []
    interval = analysis.pooled[i].interval
    label = PLAIN.marked(pooled_words(analysis.levels))
    return [{"x": low, "x2": high, "label": label} for low, high in _finite([[interval.low, interval.high]])]


def _along(diagram: Diagram) -> str:
    """The coordinate along which a panel crosses one half."""
    return "n" if diagram.layout.over_n_and_d else diagram.layout.x


def _half(analysis: Analysis, i: int) -> list[list[float]]:
    """[place of the other coordinate's value, where one half is crossed, and its interval]: an open end is the end of
    the axis, and what is open at both ends is left out, as in figures."""
    layout, panel = analysis.diagram.layout, analysis.diagram.panels[i]
    crossings: list[tuple[int, Interval]] = []
    if analysis.pooled:
        sizes = list(panel.y if layout.y == "d" else panel.x)
        crossings += [(sizes.index(size.d), size.n50) for size in analysis.pooled[i].sizes]
    elif analysis.rows and layout.y is not None:
        crossings += [(k, row.half) for k, row in enumerate(analysis.rows[i])]
    along, rows = panel.x if layout.x == _along(analysis.diagram) else panel.y, []
    for k, half in crossings:
        if np.isfinite([half.low, half.high]).any():
            low = half.low if np.isfinite(half.low) else min(float(along[0]), half.high)
            high = half.high if np.isfinite(half.high) else max(float(along[-1]), half.low)
            rows.append([k, half.estimate, low, high])
    return _finite(rows)


def _finite(rows: list[list[Any]]) -> list[list[float]]:
    return [
        [round(float(value), 3 if abs(value) > 1 else 9) for value in row] for row in rows if np.isfinite(row).all()
    ]


def _theory(diagram: Diagram, i: int, reach: list[float]) -> list[Json]:
    """Theory along the coordinate across, for each value of the other one; a ratio is upright."""
    rows, part, panel = list[Json](), 0, diagram.panels[i]
    for k, y in enumerate(panel.y):
        axis, there = Axis(panel.x), np.sort(panel.cells.loc[panel.cells["iy"] == k, "ix"].to_numpy())
        if axis.kind == "even" or len(there) < 2:
            continue
        for line in theory_along(diagram, panel, y, axis.at[there], axis.kind == "log"):
            points = (
                simplified(line.points).tolist() if len(line.points) > 1 else [[line.points[0, 0], y] for y in reach]
            )
            for k_, (x, value) in enumerate(points):
                if np.isfinite(value):
                    rows.append(
                        {"x": _digits(x, 6), "y": _digits(value, 5), "k": k_, "part": part, "label": line.label}
                    )
            part += 1
    return rows


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _ratio(places: dict[str, Any], keys: list[Json]) -> Array:
    """n/d of every cell."""
    values = {key["name"]: np.array(key["values"]) for key in keys if key["name"] in ("n", "d")}
    return np.round(values["n"][places["n"]] / values["d"][places["d"]], 9)


def _certificates(diagram: Diagram, column: Gathered) -> Json:
    """How often each kind of certificate decided, cell by cell."""
    if "certificate" not in diagram.frame:
        return {}
    kinds = diagram.frame["certificate"].astype("object").where(diagram.cells.finished, None)
    names = sorted(str(kind) for kind in kinds.dropna().unique())
    return {kind: column(diagram.cells.count((kinds == kind).to_numpy(dtype=bool))) for kind in names}


def _ids(cells: Cells, order: Any) -> list[str]:
    """For each cell its trials as `id id! id`, a failed one marked; beyond `MOST_IDS` trials only failed ones."""
    ok = cells.finished
    listed = np.ones_like(ok) if len(cells.frame) <= MOST_IDS else ~ok
    ids = cells.frame["trial_id"].astype(str).to_numpy()[listed]
    marked = [name if fine else f"{name}!" for name, fine in zip(ids, ok[listed], strict=True)]
    joined = pd.Series(marked, dtype=object).groupby(cells.code[listed]).agg(" ".join)
    full = joined.reindex(range(len(cells.keys)), fill_value="")
    return [str(value) for value in full.to_numpy()[order]]
