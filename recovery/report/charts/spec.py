"""A panel as Vega-Lite: templates that Python fills for a notebook, and the page's script for whatever is chosen.

A template is a specification in which {"$": name} stands where the part of that name goes; beside other entries, the
part's entries join them. `fill` here and in page.js are the same.
"""

from typing import Any

from recovery.report.charts.axes import Json, shades
from recovery.report.figures.style import LINES

THEMES: Json = {
    "light": {
        "lines": list(LINES),
        "curves": ["#e3242b", "#000000", "#6a3d9a", "#d95f02"],
        "halo": "#ffffff",
        "ink": "#1b1f24",
        "soft": "#57606a",
        "edge": "#d0d7de",
        "free": "#8c8c8c",
    },
    "dark": {
        "lines": ["#6cb6ff", "#ff9d57", "#5fd39a", "#c5a3ff", "#d6a48f", "#ff7eb0", "#c9d64a"],
        "curves": ["#ff5d62", "#ffffff", "#d2a8ff", "#ffa657"],
        "halo": "#000000",
        "ink": "#e6edf3",
        "soft": "#9aa5b1",
        "edge": "#333b45",
        "free": "#9a9a9a",
    },
}
"""Colours that are seen on light and on dark ground; theory has a halo, and looks in the key as on the map."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the language, which nothing fetches."""
DASHES = [[1, 0], [5, 3], [1.5, 2], [7, 2, 2, 2]]
SECONDARY = [3, 2]
MARKS = {
    "failed or missing trials": "M-0.7,0.7L0.7,-0.7",
    "nothing finished": "M-0.7,0.7L0.7,-0.7M-0.7,-0.7L0.7,0.7",
    "undecided trials": "diamond",
    "differs": "circle",
}
"""What is marked on a cell -> its shape."""


def _at(field: str, axis: str, kind: str = "quantitative") -> Json:
    return {"field": field, "type": kind, "$": axis}


SPAN = {"x": _at("x", "x"), "x2": {"field": "x2"}, "y": _at("y", "y"), "y2": {"field": "y2"}}
POINT = {"x": _at("x", "x"), "y": _at("y", "y")}
KEY = {"title": None, "orient": "top", "direction": "vertical", "labelLimit": 300}
LINE_KEY = {**KEY, "symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2, "symbolOpacity": 1}
POINT_KEY = {**KEY, "symbolOpacity": 1, "symbolStrokeWidth": 1.2, "symbolSize": 60}
STROKE = {
    "stroke": {"field": "label", "type": "nominal", "legend": LINE_KEY, "$": "stroke"},
    "strokeDash": {"field": "label", "type": "nominal", "legend": LINE_KEY, "$": "dash"},
}
THEORY = [
    {
        "data": {"$": "main"},
        "mark": {"type": "line", "clip": True, "strokeWidth": 4, "$": "halo"},
        "encoding": {**POINT, "detail": {"field": "part"}, "order": {"field": "k"}},
    },
    {
        "data": {"$": "lines"},
        "mark": {"type": "line", "clip": True, "$": "weight"},
        "encoding": {**POINT, "detail": {"field": "part"}, "order": {"field": "k"}, **STROKE},
    },
]
SHAPE = {"shape": {"field": "mark", "type": "nominal", "legend": POINT_KEY, "$": "shape"}}
NOTE = {
    "data": {"$": "note"},
    "mark": {"type": "text", "fontSize": 14, "$": "ink"},
    "encoding": {"text": {"field": "text"}, "x": {"$": "middle"}, "y": {"$": "centre"}},
}

CELLS: Json = {
    "data": {"$": "cells"},
    "mark": {"type": "rect", "clip": True},
    "encoding": {**SPAN, "fill": {"field": "v", "type": "quantitative", "$": "colour"}, "$": "tooltip"},
}
PICTURE: Json = {
    "layer": [
        {
            "data": {"$": "cells"},
            "mark": {"type": "image", "align": "left", "baseline": "top", "aspect": False, "$": "whole"},
            "encoding": {"url": {"field": "url"}, "x": {"value": 0}, "y": {"value": 0}},
        },
        {
            "data": {"values": [{"v": None}]},
            "mark": {"type": "rect", "opacity": 0},
            "encoding": {"fill": {"field": "v", "type": "quantitative", "$": "colour"}},
        },
    ]
}
"""The cells of a fine grid, painted: 250 000 rectangles of Vega's take several seconds to draw, a picture a
tenth. The second layer draws nothing: the key of the colours comes from it."""

MAP: Json = {
    "title": {"$": "title"},
    "$": "size",
    "layer": [
        CELLS,
        {
            "data": {"$": "free"},
            "mark": {"type": "rule", "clip": True, "strokeWidth": 6, "opacity": 0.55},
            "encoding": {**SPAN, **STROKE},
        },
        *THEORY,
        {
            "data": {"$": "half"},
            "mark": {"type": "rule", "clip": True, "strokeWidth": 3, "stroke": "#ffffff"},
            "encoding": SPAN,
        },
        {
            "data": {"$": "half"},
            "mark": {"type": "rule", "clip": True, "strokeWidth": 1.2, "stroke": "#000000"},
            "encoding": SPAN,
        },
        {
            "data": {"$": "points"},
            "mark": {
                "type": "point",
                "clip": True,
                "opacity": 1,
                "strokeWidth": 4,
                "stroke": "#ffffff",
                "filled": False,
                "$": "dot",
            },
            "encoding": {**POINT, **SHAPE},
        },
        {
            "data": {"$": "points"},
            "mark": {
                "type": "point",
                "clip": True,
                "opacity": 1,
                "strokeWidth": 1.2,
                "stroke": "#000000",
                "filled": False,
                "$": "dot",
            },
            "encoding": {**POINT, **SHAPE},
        },
        NOTE,
        {
            "data": {"$": "here"},
            "mark": {"type": "rect", "fillOpacity": 0, "stroke": "#ff2d7a", "strokeWidth": 2.5},
            "encoding": SPAN,
        },
    ],
}
CURVES: Json = {
    "title": {"$": "title"},
    "$": "size",
    "layer": [
        *THEORY[1:],
        {
            "data": {"$": "cells"},
            "mark": {"type": "rule", "clip": True, "strokeWidth": 1.2, "opacity": 0.6},
            "encoding": {
                **POINT,
                "y": _at("low", "y"),
                "y2": {"field": "high"},
                "color": {"field": "series", "type": "nominal", "$": "series"},
            },
        },
        {
            "data": {"$": "cells"},
            "mark": {"type": "line", "clip": True, "strokeWidth": 1.2, "$": "joined"},
            "encoding": {**POINT, "color": {"field": "series", "type": "nominal", "$": "series"}},
        },
        {
            "data": {"$": "cells"},
            "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
            "encoding": {**POINT, "color": {"field": "series", "type": "nominal", "$": "series"}, "$": "tooltip"},
        },
        NOTE,
        {
            "data": {"$": "here"},
            "mark": {"type": "point", "size": 140, "stroke": "#ff2d7a", "strokeWidth": 2.5, "opacity": 1},
            "encoding": POINT,
        },
    ],
}


def fill(part: Any, given: Json) -> Any:
    """A template with its parts."""
    if isinstance(part, list):
        return [fill(inner, given) for inner in part]
    if not isinstance(part, dict):
        return part
    own = {name: fill(inner, given) for name, inner in part.items() if name != "$"}
    return {**own, **given[part["$"]]} if "$" in part else own


def config(theme: Json) -> Json:
    """How a figure of this theme looks."""
    ink, soft, edge = theme["ink"], theme["soft"], theme["edge"]
    letters = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "background": None,
        "aria": False,
        "font": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
        "view": {"stroke": soft},
        "axis": {
            **letters,
            "grid": False,
            "domain": False,
            "tickColor": soft,
            "gridColor": edge,
            "labelOverlap": "greedy",
        },
        "legend": {**letters, "gradientLength": 180, "titleLimit": 320},
        "title": {"color": ink, "subtitleColor": soft, "anchor": "start", "fontSize": 13, "subtitleFontSize": 12},
    }


def templates() -> Json:
    """Everything that the page's script makes figures of."""
    return {
        "schema": SCHEMA,
        "map": MAP,
        "curves": CURVES,
        "picture": PICTURE,
        "themes": THEMES,
        "config": {name: config(theme) for name, theme in THEMES.items()},
        "dashes": DASHES,
        "secondary": SECONDARY,
        "marks": MARKS,
        "points": POINT_KEY,
        "many": shades("viridis", 20)[3:19],
    }
