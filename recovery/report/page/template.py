"""Templates of panels as Vega-Lite. Notebooks fill them in Python (`chart`), pages in JavaScript (view.js).

A template is a specification with placeholders {"$": name}. A placeholder is replaced by the part of that name; next to
other entries, the part's entries are merged with them. All parts are made by `encodings`, `cell_values` and `payload`.
"""

from typing import Any

from recovery.report.page.encodings import ALONE, KEY, THEMES, Json

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""Identifier of the Vega-Lite version; nothing is fetched from this address."""
SELECTED = "#ff2d7a"
"""Colour of the frame of the selected grid cell."""


def _at(field: str, axis: str) -> Json:
    return {"field": field, "type": "quantitative", "$": axis}


def _layer(data: str, mark: str, encoding: Json, **style: Any) -> Json:
    """Return a layer that draws a table with one type of mark; its style may contain placeholders."""
    return {"data": {"$": data}, "mark": {"type": mark, **style}, "encoding": encoding}


POINT = {"x": _at("x", "x"), "y": _at("y", "y")}
SPAN = {**POINT, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
PATH = {**POINT, "detail": {"field": "part"}, "order": {"field": "k"}}
LINE_KEY = {**KEY, "symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2, "symbolOpacity": 1}
POINT_KEY = {**KEY, "symbolOpacity": 1, "symbolStrokeWidth": 1.2, "symbolSize": 60}
BAR_KEY = {**POINT_KEY, "symbolType": "M0,-1L0,1"}
STROKE = {
    "stroke": {"field": "label", "type": "nominal", "legend": LINE_KEY, "scale": {"$": "stroke"}},
    "strokeDash": {"field": "label", "type": "nominal", "legend": LINE_KEY, "scale": {"$": "dash"}},
}
SHAPE = {
    "shape": {"field": "mark", "type": "nominal", "legend": {**POINT_KEY, "$": "symbol"}, "scale": {"$": "shapes"}}
}
FILL = {"field": "v", "type": "quantitative", "$": "colour"}
SERIES = {"color": {"field": "series", "type": "nominal", "$": "series"}}
NOTE = _layer("note", "text", {"text": {"field": "text"}}, **{"fontSize": 14, "$": "ink"})


def _theory(width: float) -> Json:
    return _layer("lines", "line", {**PATH, **STROKE}, clip=True, strokeWidth=width)


def _contour(width: float, colour: str) -> Json:
    return _layer("contour", "line", PATH, clip=True, strokeWidth=width, stroke=colour)


def _bars(width: float, colour: str) -> Json:
    return _layer("half", "rule", SPAN, clip=True, strokeWidth=width, stroke=colour)


def _marks(width: float, colour: str) -> Json:
    style = {"clip": True, "opacity": 1, "filled": False, "strokeWidth": width, "stroke": colour, "$": "dot"}
    return _layer("points", "point", {**POINT, **SHAPE}, **style)


PICTURE: Json = {
    "layer": [
        _layer(
            "cells",
            "image",
            {"url": {"field": "url"}, "x": {"value": 0}, "y": {"value": 0}},
            **{"align": "left", "baseline": "top", "aspect": False, "$": "size"},
        ),
        {"data": {"values": [{"v": None}]}, "mark": {"type": "rect", "opacity": 0}, "encoding": {"fill": FILL}},
    ]
}
"""The cells of a fine grid as a picture: Vega takes several seconds to draw 250 000 rectangles, and a tenth of that
for a picture. The second layer draws nothing, and only adds the legend of the colours."""

HALO: Json = {"$": "halo"}
MAP: Json = {
    "title": {"$": "title"},
    "$": "size",
    "layer": [
        _layer("cells", "rect", {**SPAN, "fill": FILL, "$": "tooltip"}, clip=True),
        # the halo has the dashes of its line, because a solid one would show between the dashes
        _layer("lines", "line", {**PATH, "strokeDash": STROKE["strokeDash"]}, clip=True, strokeWidth=4, **HALO)
        | {"transform": [{"filter": "!datum.secondary"}]},
        _theory(2),
        _contour(3.2, "#ffffff"),
        _contour(1.6, "#000000"),
        _bars(3, "#ffffff"),
        _bars(1.2, "#000000"),
        _marks(4, "#ffffff"),
        _marks(1.2, "#000000"),
        NOTE,
        _layer("here", "rect", SPAN, fillOpacity=0, stroke=SELECTED, strokeWidth=2.5),
    ],
}
BAND = {"field": "label", "type": "nominal", "legend": KEY, "scale": {"range": ["#9a9a9a"]}}
INTERVALS = {
    "field": "bar",
    "type": "ordinal",
    "scale": {"type": "ordinal", "range": [0.6]},
    "legend": {**BAR_KEY, "$": "symbol"},
}
ENDS = {"x": _at("x", "x"), "y": _at("low", "y"), "y2": {"field": "high"}}
CROSSES = {
    "field": "label",
    "type": "nominal",
    "legend": {**POINT_KEY, "$": "symbol"},
    "scale": {"range": ["M-0.7,0.7L0.7,-0.7M-0.7,-0.7L0.7,0.7"]},
}
CURVES: Json = {
    "title": {"$": "title"},
    "$": "size",
    "layer": [
        _layer("band", "rect", {"x": _at("x", "x"), "x2": {"field": "x2"}, "fill": BAND}, clip=True, opacity=0.4),
        _theory(1.4),
        _layer("cells", "rule", {**ENDS, "opacity": INTERVALS, **SERIES}, clip=True, strokeWidth=1.2)
        | {"transform": [{"as": "bar", "$": "bars"}]},
        _layer("cells", "line", {**POINT, **SERIES}, **{"clip": True, "strokeWidth": 1.2, "$": "joined"}),
        _layer("cells", "point", {**POINT, **SERIES, "$": "tooltip"}, filled=True, size=34, opacity=1),
        _layer("printed", "point", {**POINT, **SERIES, "shape": CROSSES}, size=50, strokeWidth=1.4, opacity=1),
        NOTE,
        _layer("here", "point", POINT, size=140, stroke=SELECTED, strokeWidth=2.5, opacity=1),
    ],
}
SHARED = {"scale": dict.fromkeys(("fill", "stroke", "strokeDash", "shape", "color", "opacity"), "shared")}
OWN = {"scale": SHARED["scale"] | {"fill": "independent"}}
"""Scales of panels of which each has its own colours."""


def fill(part: Any, given: Json) -> Any:
    """Replace the placeholders of a template by the given parts."""
    if isinstance(part, list):
        return [fill(inner, given) for inner in part]
    if not isinstance(part, dict):
        return part
    own = {name: fill(inner, given) for name, inner in part.items() if name != "$"}
    return {**own, **given[part["$"]]} if "$" in part else own


def config(theme: Json) -> Json:
    """Return the Vega-Lite configuration of a theme."""
    ink, soft, edge = theme["ink"]["color"], theme["soft"], theme["edge"]
    colours, sizes = {"labelColor": ink, "titleColor": ink}, {"labelFontSize": 12, "titleFontSize": 12}
    letters = {**colours, **sizes, "titleFontWeight": "normal"}
    ticks = {"grid": False, "domain": False, "tickColor": soft, "gridColor": edge, "labelOverlap": "greedy"}
    return {
        "background": None,
        "aria": False,
        "font": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
        "view": {"stroke": soft},
        "axis": {**letters, **ticks},
        "legend": {**letters, "gradientLength": 180, "titleLimit": 320},
        "title": {"color": ink, "subtitleColor": soft, "anchor": "start", "fontSize": 13, "subtitleFontSize": 12},
    }


def templates() -> Json:
    """Return the templates, the themes and the shared parts that the page's script needs to draw charts."""
    return {
        "schema": SCHEMA,
        "map": MAP,
        "curves": CURVES,
        "picture": PICTURE,
        "shared": SHARED,
        "own": OWN,
        "alone": ALONE,
        "themes": {name: theme | {"config": config(theme)} for name, theme in THEMES.items()},
    }
