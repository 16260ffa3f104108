"""A panel as Vega-Lite, in one grammar: templates that are filled for a notebook here, and by the page's script there.

A template is a specification in which {"$": name} stands where the part of that name goes; beside other entries, the
part's entries join them. All parts are made in `encodings`, `values` and `payload`; who fills a template only picks.
"""

from typing import Any

from recovery.report.page.encodings import ALONE, KEY, THEMES, Json

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""The name of the language, which nothing fetches."""


def _at(field: str, axis: str, kind: str = "quantitative") -> Json:
    return {"field": field, "type": kind, "$": axis}


SPAN = {"x": _at("x", "x"), "x2": {"field": "x2"}, "y": _at("y", "y"), "y2": {"field": "y2"}}
POINT = {"x": _at("x", "x"), "y": _at("y", "y")}
LINE_KEY = {**KEY, "symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2, "symbolOpacity": 1}
POINT_KEY = {**KEY, "symbolOpacity": 1, "symbolStrokeWidth": 1.2, "symbolSize": 60}
STROKE = {
    "stroke": {"field": "label", "type": "nominal", "legend": LINE_KEY, "scale": {"$": "stroke"}},
    "strokeDash": {"field": "label", "type": "nominal", "legend": LINE_KEY, "scale": {"$": "dash"}},
}
SHAPE = {
    "shape": {"field": "mark", "type": "nominal", "legend": {**POINT_KEY, "$": "symbol"}, "scale": {"$": "shapes"}}
}
NOTE = {
    "data": {"$": "note"},
    "mark": {"type": "text", "fontSize": 14, "$": "ink"},
    "encoding": {"text": {"field": "text"}},
}


def _theory(width: float) -> Json:
    return {
        "data": {"$": "lines"},
        "mark": {"type": "line", "clip": True, "strokeWidth": width},
        "encoding": {**POINT, "detail": {"field": "part"}, "order": {"field": "k"}, **STROKE},
    }


def _contour(width: float, colour: str) -> Json:
    return {
        "data": {"$": "contour"},
        "mark": {"type": "line", "clip": True, "strokeWidth": width, "stroke": colour},
        "encoding": {**POINT, "detail": {"field": "part"}, "order": {"field": "k"}},
    }


def _bars(width: float, colour: str) -> Json:
    return {
        "data": {"$": "half"},
        "mark": {"type": "rule", "clip": True, "strokeWidth": width, "stroke": colour},
        "encoding": SPAN,
    }


def _marks(width: float, colour: str) -> Json:
    look = {"type": "point", "clip": True, "opacity": 1, "filled": False, "strokeWidth": width, "stroke": colour}
    return {"data": {"$": "points"}, "mark": {**look, "$": "dot"}, "encoding": {**POINT, **SHAPE}}


CELLS: Json = {
    "data": {"$": "cells"},
    "mark": {"type": "rect", "clip": True},
    "encoding": {**SPAN, "fill": {"field": "v", "type": "quantitative", "$": "colour"}, "$": "tooltip"},
}
PICTURE: Json = {
    "layer": [
        {
            "data": {"$": "cells"},
            "mark": {"type": "image", "align": "left", "baseline": "top", "aspect": False, "$": "size"},
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
            "data": {"$": "lines"},
            "transform": [{"filter": "!datum.secondary"}],
            "mark": {"type": "line", "clip": True, "strokeWidth": 4, "$": "halo"},
            "encoding": {**POINT, "detail": {"field": "part"}, "order": {"field": "k"}},
        },
        _theory(2),
        _contour(3.2, "#ffffff"),
        _contour(1.6, "#000000"),
        _bars(3, "#ffffff"),
        _bars(1.2, "#000000"),
        _marks(4, "#ffffff"),
        _marks(1.2, "#000000"),
        NOTE,
        {
            "data": {"$": "here"},
            "mark": {"type": "rect", "fillOpacity": 0, "stroke": "#ff2d7a", "strokeWidth": 2.5},
            "encoding": SPAN,
        },
    ],
}
SERIES = {"color": {"field": "series", "type": "nominal", "$": "series"}}
BAR_KEY = {**KEY, "symbolType": "M0,-1L0,1", "symbolStrokeWidth": 1.2, "symbolSize": 60, "symbolOpacity": 1}
CURVES: Json = {
    "title": {"$": "title"},
    "$": "size",
    "layer": [
        {
            "data": {"$": "band"},
            "mark": {"type": "rect", "clip": True, "opacity": 0.4},
            "encoding": {
                "x": _at("x", "x"),
                "x2": {"field": "x2"},
                "fill": {"field": "label", "type": "nominal", "legend": KEY, "scale": {"range": ["#9a9a9a"]}},
            },
        },
        _theory(1.4),
        {
            "data": {"$": "cells"},
            "transform": [{"as": "bar", "$": "bars"}],
            "mark": {"type": "rule", "clip": True, "strokeWidth": 1.2},
            "encoding": {
                "x": _at("x", "x"),
                "y": _at("low", "y"),
                "y2": {"field": "high"},
                "opacity": {
                    "field": "bar",
                    "type": "ordinal",
                    "scale": {"type": "ordinal", "range": [0.6]},
                    "legend": {**BAR_KEY, "$": "symbol"},
                },
                **SERIES,
            },
        },
        {
            "data": {"$": "cells"},
            "mark": {"type": "line", "clip": True, "strokeWidth": 1.2, "$": "joined"},
            "encoding": {**POINT, **SERIES},
        },
        {
            "data": {"$": "cells"},
            "mark": {"type": "point", "filled": True, "size": 34, "opacity": 1},
            "encoding": {**POINT, **SERIES, "$": "tooltip"},
        },
        NOTE,
        {
            "data": {"$": "here"},
            "mark": {"type": "point", "size": 140, "stroke": "#ff2d7a", "strokeWidth": 2.5, "opacity": 1},
            "encoding": POINT,
        },
    ],
}
OWN = {"scale": {"fill": "independent"}}
"""Beside `SHARED`: panels with colours of their own."""
SHARED = {"scale": dict.fromkeys(("fill", "stroke", "strokeDash", "shape", "color", "opacity"), "shared")}


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
    ink, soft, edge = theme["ink"]["color"], theme["soft"], theme["edge"]
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
        "shared": SHARED,
        "own": {"scale": SHARED["scale"] | OWN["scale"]},
        "alone": ALONE,
        "themes": {name: theme | {"config": config(theme)} for name, theme in THEMES.items()},
    }
