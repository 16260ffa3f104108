"""Vega-Lite encodings of coordinates and colours: scales, ticks and cell edges for every kind of axis."""

import json
from typing import Any

import numpy as np

from recovery.report.diagram import PLAIN, Axis, AxisKind, Diagram, Script, levels, shared_parts
from recovery.report.figures.style import LINES, ORDERED, ordered, shades

Json = dict[str, Any]


THEMES: Json = {
    "light": {
        "lines": list(LINES),
        "shades": ORDERED,
        "curves": ["#e3242b", "#000000", "#6a3d9a", "#d95f02"],
        **{"soft": "#57606a", "edge": "#d0d7de", "halo": {"stroke": "#ffffff"}},
        **{"ink": {"color": "#1b1f24"}, "symbol": {"symbolStrokeColor": "#1b1f24"}},
    },
    "dark": {
        "lines": ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#f0e442"],
        "shades": ("gnuplot2", 0.45, 0.95),
        "curves": ["#ff5d62", "#ffffff", "#d2a8ff", "#ffa657"],
        **{"soft": "#9aa5b1", "edge": "#333b45", "halo": {"stroke": "#000000"}},
        **{"ink": {"color": "#e6edf3"}, "symbol": {"symbolStrokeColor": "#e6edf3"}},
    },
}
"""Colours that are visible on a light and on a dark background: lines without and with order, theory curves, soft text,
borders, the halo of a curve, and text."""
STOPS = 17
"""Number of colours of a colour scale; Vega interpolates linearly between them."""
DASHES = [[1, 0], [5, 3], [1.5, 2], [7, 2, 2, 2]]
SECONDARY = [3, 2]
KEY: Json = {"title": None, "orient": "top", "direction": "vertical", "labelLimit": 380}
ALONE: Json = {
    "kind": "even",
    "at": [0.0],
    "edges": [-0.5, 0.5],
    "encoding": {"axis": None, "scale": {"domain": [-0.5, 0.5], "nice": False, "zero": False}},
}
"""The vertical coordinate of a grid that varies along x only."""


def coordinate(script: Script, name: str, values: Any) -> Json:
    """Return a coordinate's names and values, its possible axes, the size of marks on its cells, and its line style."""
    words = [script.words(name, value) for value in values]
    return {
        "name": name,
        "label": script.axis(name),
        "values": [value.item() if isinstance(value, np.generic) else value for value in values],
        "words": words,
        "axes": {kind: _axis(script.axis(name), Axis(values, kind)) for kind in Axis(values).kinds},
        "dot": {"size": {"expr": f"clamp(pow(width / {len(words)}, 2) / 6, 12, 36)"}},
        "series": {theme: series(words, theme, ordered(values)) for theme in THEMES},
        "joined": {"opacity": 0 if isinstance(values[0], str) or len(words) < 3 else 1},
    }


def coordinates(diagram: Diagram) -> tuple[list[Json], dict[str, Any]]:
    """Return the coordinates of a diagram, x and y first, and for each the index of its value in every grid cell."""
    layout, panels = diagram.layout, diagram.panels
    across, up = ([] if name is None else [name] for name in (layout.x, layout.y))
    values = {name: levels(diagram.frame, diagram.sweep, name) for name in (*across, *up, *layout.panels)}
    places = {
        name: np.concatenate([panel.cells[column].to_numpy() for panel in panels])
        for name, column in ((layout.x, "ix"), (layout.y, "iy"))
        if name is not None
    }
    for name in layout.panels:
        places[name] = np.concatenate(
            [np.full(len(panel.cells), values[name].index(panel.where[name])) for panel in panels]
        )
    return [coordinate(diagram.script, name, of) for name, of in values.items()], places


def _axis(title: str, axis: Axis) -> Json:
    """Return the positions and cell edges of an axis, and its Vega-Lite scale and ticks, which are those of figures.

    Ends of cells are rounded to whole pixels, because otherwise thin gaps are visible between cells.
    """
    shared = shared_parts(axis.values)
    ticks = [(at, PLAIN.value(value, shared)) for at, value in axis.ticks if value is not None]
    edges = [rounded_to(value, 6) for value in axis.edges]
    scale: Json = {"type": "linear", "zero": False} if axis.kind != "log" else {"type": "log"}
    return {
        "kind": axis.kind,
        "at": [rounded_to(value, 6) for value in axis.at],
        "edges": edges,
        "encoding": {
            "scale": scale | {"domain": [edges[0], edges[-1]], "nice": False, "round": True},
            "axis": {
                "title": title,
                "values": [at for at, _ in ticks],
                # labels enter this Vega expression as JSON strings and are never evaluated
                "labelExpr": f"{json.dumps([label for _, label in ticks])}"
                f"[indexof({json.dumps([at for at, _ in ticks])}, datum.value)]",
            },
        },
    }


def colour(title: str, limits: tuple[float, float], kind: AxisKind, colours: str) -> Json:
    """Return the Vega-Lite encoding of numbers as colours, with the colours and the title of figures."""
    space = np.geomspace if kind == "log" else np.linspace
    domain = [float(f"{value:.9g}") for value in space(*limits, STOPS)]
    words = title + (", log scale" if kind == "log" else "")
    return {
        "scale": {"type": kind, "domain": domain, "range": shades(STOPS, colours), "clamp": True},
        "legend": {"title": words, "orient": "top", "direction": "horizontal", "tickCount": 5},
    }


def height(title: str, reach: tuple[float, float] | None, kind: AxisKind) -> Json:
    """Return the Vega-Lite encoding of numbers as the y axis of curves; reach None means fractions."""
    limits = {"domain": [-0.03, 1.03] if reach is None else list(reach), "nice": reach is not None}
    scale = {"type": kind, **limits, **({"clamp": True} if kind == "log" else {"zero": False})}
    ticks = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]} if reach is None else {"tickCount": 6}
    return {"scale": scale, "axis": {"title": title, "grid": True, **ticks}}


def series(words: list[str], theme: str, in_order: bool = False) -> Json:
    """Return colours and legend of measured lines: shades if they have an order or are more than the colours."""
    own = THEMES[theme]["lines"]
    shaded = in_order or len(words) > len(own)
    colours = shades(len(words), *THEMES[theme]["shades"]) if shaded else own[: len(words)]
    legend = {"title": None, "orient": "top", "columns": 6, "symbolLimit": 24} if len(words) > 1 else None
    return {"scale": {"domain": words, "range": colours}, "legend": legend}


def strokes(lines: list[tuple[str, bool]], theme: str) -> Json:
    """Return the scales of colour and dash for theory curves, given as (label, whether it brackets another curve)."""
    main = list(dict.fromkeys(label for label, secondary in lines if not secondary))
    rank = {label: main.index(label) % 4 if label in main else 0 for label, _ in lines}
    colours = {label: THEMES[theme]["curves"][k] for label, k in rank.items()}
    dashes = {label: DASHES[k] if label in main else SECONDARY for label, k in rank.items()}
    return {"stroke": ordinal(colours), "dash": ordinal(dashes)}


def ordinal(styles: dict[str, Any]) -> Json:
    """Return a Vega-Lite scale that maps each label to its style."""
    return {"domain": list(styles), "range": list(styles.values())}


def rounded_to(value: float, digits: int) -> float:
    """Round a number to significant digits."""
    return float(f"{value:.{digits}g}")
