"""A diagram as data of charts: coordinates, panels, what can be shown of each cell, thresholds and theory."""

from typing import Any

import numpy as np
import pandas as pd

from recovery.report.charts.axes import Json, coordinate, coordinates
from recovery.report.charts.polyline import simplified
from recovery.report.charts.values import Gathered, choices, rounded
from recovery.report.claims import Analysis, caption
from recovery.report.diagram import Axis, Cells, Diagram, lines, theory_along
from recovery.report.figures import letters
from recovery.report.figures.map import NONPARAMETRIC, half_words
from recovery.report.statistics import Crossing, Threshold
from recovery.types import Array

MOST_IDS = 50_000
"""Grids with more trials than this list only those that failed, by cell."""
RATIO = {"of": "n"}
"""n/d stands for n, which it gives with d."""


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
        keys.append(RATIO | coordinate("n/d", ratios := np.unique(_ratio(places, keys))))
        places["n/d"] = np.searchsorted(ratios, _ratio(places, keys))
    counts = diagram.cells.counts()
    shown = choices(diagram, column, every)
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
        "panels": [_panel(analysis, i) for i in range(len(diagram.panels))],
        **{name: column(counts[name]) for name in ("trials", "ok", "failed", "missing")},
        "choices": shown,
        "pairs": column.finish(),
        "half": {"along": _along(diagram), "label": ", ".join(half_words(analysis, 0)), "free": NONPARAMETRIC},
        "certificates": _certificates(diagram, column),
        "ids": _ids(diagram.cells, order),
        "lines": _lines(diagram),
        "theory": _theory(diagram) if kind == "profile" else [],
    }


def _panel(analysis: Analysis, i: int) -> Json:
    diagram, panel = analysis.diagram, analysis.diagram.panels[i]
    title = f"({letters(i)}) {panel.title}" if len(diagram.panels) > 1 else panel.title
    return {
        "title": title,
        "name": panel.title,
        "brief": caption(analysis.pooled[i]) if analysis.pooled else "",
        "cells": len(panel.cells),
        "half": _half(analysis, i),
        "free": _free(analysis, i),
    }


def _along(diagram: Diagram) -> str:
    """The coordinate along which a panel crosses one half."""
    return "n" if diagram.layout.over_n_and_d else diagram.layout.x


def _half(analysis: Analysis, i: int) -> list[list[float]]:
    """[place of the other coordinate's value, where one half is crossed, and its interval]: an open end is the end of
    the axis, and what is open at both ends is left out, as in figures."""
    layout, panel = analysis.diagram.layout, analysis.diagram.panels[i]
    found: list[tuple[int, Threshold | Crossing]] = []
    if analysis.slices:
        sizes = list(panel.y if layout.y == "d" else panel.x)
        found += [(sizes.index(d), n50) for d, n50 in analysis.slices[i]]
    elif analysis.rows and layout.y is not None:
        found += [(k, row.half) for k, row in enumerate(analysis.rows[i])]
    along, rows = panel.x if layout.x == _along(analysis.diagram) else panel.y, []
    for k, half in found:
        if np.isfinite([half.low, half.high]).any():
            low = half.low if np.isfinite(half.low) else min(float(along[0]), half.high)
            high = half.high if np.isfinite(half.high) else max(float(along[-1]), half.low)
            rows.append([k, half.estimate, low, high])
    return _finite(rows)


def _free(analysis: Analysis, i: int) -> list[list[float]]:
    """[place of d, low, high]: n50 at every d by rising fractions alone."""
    if not analysis.pooled:
        return []
    panel = analysis.pooled[i].panel
    up = list(panel.y if analysis.diagram.layout.y == "d" else panel.x)
    return _finite([[up.index(size.d), size.n50.low, size.n50.high] for size in analysis.pooled[i].sizes])


def _finite(rows: list[list[Any]]) -> list[list[float]]:
    return [
        [round(float(value), 3 if abs(value) > 1 else 9) for value in row] for row in rows if np.isfinite(row).all()
    ]


def _lines(diagram: Diagram) -> list[Json]:
    """Theory in the plane of n and d: label, whether it brackets a main line, and points (across, up)."""
    return [
        {"label": line.label, "secondary": line.secondary, "points": np.round(simplified(line.points), 3).tolist()}
        for line in lines(diagram)
    ]


def _theory(diagram: Diagram) -> list[Json]:
    """Theory along the coordinate across, for each panel and each value of the other one; of a ratio no value."""
    found = []
    for i, panel in enumerate(diagram.panels):
        for k, y in enumerate(panel.y):
            axis, there = Axis(panel.x), np.sort(panel.cells.loc[panel.cells["iy"] == k, "ix"].to_numpy())
            if axis.kind == "even" or len(there) < 2:
                continue
            lines_ = theory_along(diagram, panel, y, axis.at[there], axis.kind == "log")
            for line in lines_:
                kept = simplified(line.points) if np.isfinite(line.points).all() else line.points
                points = [[float(f"{at:.6g}"), *rounded(np.array([value]), 5)] for at, value in kept]
                found.append({"panel": i, "label": line.label, "points": points})
    return found


def _ratio(places: dict[str, Any], keys: list[Json]) -> Array:
    """n/d of every cell."""
    values = {key["name"]: np.array(key["values"]) for key in keys if key["name"] in ("n", "d")}
    return np.round(values["n"][places["n"]] / values["d"][places["d"]], 9)


def _certificates(diagram: Diagram, column: Gathered) -> Json:
    """How often each kind of certificate decided, cell by cell."""
    if "certificate" not in diagram.frame:
        return {}
    kinds = diagram.frame["certificate"].astype("object").where(diagram.cells.finished, None)
    found = sorted(str(kind) for kind in kinds.dropna().unique())
    return {kind: column(diagram.cells.count((kinds == kind).to_numpy(dtype=bool))) for kind in found}


def _ids(cells: Cells, order: Any) -> list[str]:
    """For each cell its trials as `id id! id`, a failed one marked; beyond `MOST_IDS` trials only failed ones."""
    ok = cells.finished
    listed = np.ones_like(ok) if len(cells.frame) <= MOST_IDS else ~ok
    ids = cells.frame["trial_id"].astype(str).to_numpy()[listed]
    marked = [name if fine else f"{name}!" for name, fine in zip(ids, ok[listed], strict=True)]
    joined = pd.Series(marked, dtype=object).groupby(cells.code[listed]).agg(" ".join)
    full = joined.reindex(range(len(cells.keys)), fill_value="")
    return [str(value) for value in full.to_numpy()[order]]
