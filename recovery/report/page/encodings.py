"""Vega-Lite encodings of coordinates, values and lines, with the colours of both themes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recovery.report.diagram import PLAIN, Axis, Scale, shared_parts
from recovery.report.figures.style import CURVES, LINES, ORDERED, ordered, shades, ticks_of
from recovery.types import Array

Json = dict[str, Any]

INK, SOFT, EDGE, HALO = "#1b1f24", "#57606a", "#d0d7de", "#fffffe"
"""Colours of the light theme: text, soft text, borders, and the halo around a theory line."""
DARK = {INK: "#e6edf3", SOFT: "#9aa5b1", EDGE: "#333b45", HALO: "#000000"}
DARK |= zip(CURVES, ("#ff5d62", "#ffffff", "#d2a8ff", "#ffa657"), strict=True)
DARK |= zip(LINES, ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#f0e442"), strict=True)
"""Colour of the light theme -> of the dark theme. The page replaces the keys in a specification, so a colour that
stays, such as those of a map, must not be a key."""
DARK_SHADES = ("gnuplot2", 0.45, 0.95)
STOPS = 17
"""Number of colours of a colour scale; Vega interpolates linearly between them."""
KEY: Json = {"title": None, "orient": "top", "direction": "vertical", "labelLimit": 380}
POINT_KEY: Json = {**KEY, "symbolOpacity": 1, "symbolStrokeWidth": 1.2, "symbolSize": 60, "symbolStrokeColor": INK}
LINE_KEY: Json = {**KEY, "symbolOpacity": 1, "symbolStrokeWidth": 2, "symbolSize": 500, "symbolType": "stroke"}
LETTERS: Json = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12}
LETTERS["titleFontWeight"] = "normal"
CONFIG: Json = {
    "background": None,
    "aria": False,
    "font": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
    "view": {"stroke": SOFT},
    "axis": {**LETTERS, "grid": False, "domain": False, "tickColor": SOFT, "gridColor": EDGE, "labelOverlap": "greedy"},
    "legend": {**LETTERS, "gradientLength": 180, "titleLimit": 320},
    "title": {"color": INK, "subtitleColor": SOFT, "anchor": "start", "fontSize": 13, "subtitleFontSize": 12},
}


def position(axis: Axis, title: str, ends: Sequence[float] | Array) -> Json:
    """Return the encoding of a coordinate on an axis between two ends, with the ticks of matplotlib's figures."""
    shared, found = shared_parts(axis.values), ticks_of(axis)
    ticks = {rounded(at, 6): PLAIN.value(value, shared, axis.name) for at, value in found if value is not None}
    # labels enter this Vega expression as JSON strings and are never evaluated
    label = f"{json.dumps(list(ticks.values()))}[indexof({json.dumps(list(ticks))}, datum.value)]"
    domain = [rounded(end, 6) for end in ends]
    # ends of cells are rounded to whole pixels, because otherwise thin gaps are visible between cells
    scale = {"type": "log" if axis.kind == "log" else "linear", "domain": domain, "nice": False, "round": True}
    axis_ = {"title": title, "values": list(ticks), "labelExpr": label}
    return {"type": "quantitative", "scale": scale, "axis": axis_}


def colour(scale: Scale) -> Json:
    """Return the encoding of the numbers `v` as colours, with the colours and the title of matplotlib's figures."""
    domain = [rounded(v, 9) for v in (np.geomspace if scale.logarithmic else np.linspace)(*scale.limits, STOPS)]
    kind, colours = "log" if scale.logarithmic else "linear", shades(STOPS, scale.colours)
    legend = {"title": scale.label, "orient": "top", "direction": "horizontal", "tickCount": 5}
    marks = {"type": kind, "domain": domain, "range": colours, "clamp": True}
    # a cell without a value is white paper, but has a tooltip
    unknown = {"test": "!isValid(datum.v)", "value": "transparent"}
    return {"field": "v", "type": "quantitative", "scale": marks, "legend": legend, "condition": unknown}


def height(title: str, values: Array | None, log: bool) -> Json:
    """Return the encoding of the y axis of lines. values: all that is drawn, None for fractions. log: the scale."""
    scale: Json = {"type": "linear", "domain": [-0.03, 1.03], "nice": False}
    if values is not None:
        kept = values[np.isfinite(values) & ((values > 0) | (not log))]
        low, high = (rounded(kept.min(), 6), rounded(kept.max(), 6)) if len(kept) else (0.1, 1.0)
        room = (abs(low) / 2 or 0.5) if low == high else 0.0 if log else (high - low) / 50
        scale = {"type": "log" if log else "linear", "domain": [low - room, high + room], "nice": True, "clamp": log}
    return {"type": "quantitative", "scale": scale, "axis": {"title": title, "grid": True, "tickCount": 6}}


def series(words: list[str], values: Sequence[Any]) -> Json:
    """Return the encoding of lines as colours: shades if `values` have an order or are more than `LINES`."""
    shaded = ordered(values) or len(words) > len(LINES)
    colours = shades(len(words), *ORDERED) if shaded else list(LINES[: len(words)])
    scale = {"domain": words, "range": colours}
    legend = {"title": None, "orient": "top", "columns": 6, "symbolLimit": 24, "labelLimit": 380}
    named = legend if len(words) > 1 else None
    return {"color": {"field": "series", "type": "nominal", "scale": scale, "legend": named}}


def dark_colours(count: int) -> dict[str, str]:
    """Return colour of the light theme -> colour of the dark theme. count: the number of lines drawn in shades."""
    return DARK | dict(zip(shades(count, *ORDERED), shades(count, *DARK_SHADES), strict=True))


def stroked(found: Mapping[str, Json]) -> Json:
    """Return the encodings `stroke` and `strokeDash` of lines. found: label -> look."""
    dashes = [[1, 0] if one["linestyle"] == "-" else list(one["linestyle"][1]) for one in found.values()]
    looks = {"stroke": [one["color"] for one in found.values()], "strokeDash": dashes}
    common = {"field": "label", "type": "nominal", "legend": LINE_KEY}
    return {name: common | {"scale": {"domain": list(found), "range": of}} for name, of in looks.items()}


def rounded(value: float, digits: int = 4) -> float:
    """Round a number to significant digits."""
    return float(f"{value:.{digits}g}")
