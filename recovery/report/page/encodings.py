"""Coordinates and colours as Vega-Lite has them: a cell's borders, scales and ticks, on every kind of axis."""

import json
from typing import Any

import matplotlib
import numpy as np

from recovery.report.diagram import PLAIN, Axis, AxisKind, Diagram, levels
from recovery.report.figures.style import LINES
from recovery.types import Array

Json = dict[str, Any]
THEMES: Json = {
    "light": {
        "lines": list(LINES),
        "curves": ["#e3242b", "#000000", "#6a3d9a", "#d95f02"],
        "halo": {"stroke": "#ffffff"},
        "ink": {"color": "#1b1f24"},
        "symbol": {"symbolStrokeColor": "#1b1f24"},
        "soft": "#57606a",
        "edge": "#d0d7de",
    },
    "dark": {
        "lines": ["#6cb6ff", "#ff9d57", "#5fd39a", "#c5a3ff", "#d6a48f", "#ff7eb0", "#c9d64a"],
        "curves": ["#ff5d62", "#ffffff", "#d2a8ff", "#ffa657"],
        "halo": {"stroke": "#000000"},
        "ink": {"color": "#e6edf3"},
        "symbol": {"symbolStrokeColor": "#e6edf3"},
        "soft": "#9aa5b1",
        "edge": "#333b45",
    },
}
"""Colours that are seen on light and on dark ground; theory has a halo, and looks in the key as on the map."""
STOPS = 17
"""Colours between which a scale runs straight."""
DASHES = [[1, 0], [5, 3], [1.5, 2], [7, 2, 2, 2]]
SECONDARY = [3, 2]
KEY: Json = {"title": None, "orient": "top", "direction": "vertical", "labelLimit": 380}
ALONE: Json = {
    "kind": "even",
    "at": [0.0],
    "edges": [-0.5, 0.5],
    "encoding": {"axis": None, "scale": {"domain": [-0.5, 0.5], "nice": False, "zero": False}},
}
"""What goes up where nothing does."""


def coordinate(name: str, values: Any) -> Json:
    """One coordinate: its name, its words, those of its values, the kinds of axis that it can have, the size of
    marks on its cells, and as lines: their colours, and whether the points along it are joined."""
    words = [PLAIN.pair(name, value) for value in values]
    return {
        "name": name,
        "label": PLAIN.axis(name),
        "values": [value.item() if isinstance(value, np.generic) else value for value in values],
        "words": words,
        "axes": {kind: _axis(name, Axis(values, kind)) for kind in Axis(values).kinds},
        "dot": {"size": {"expr": f"clamp(pow(width / {len(words)}, 2) / 6, 12, 36)"}},
        "series": {theme: series(words, theme) for theme in THEMES},
        "joined": {"opacity": 0 if isinstance(values[0], str) or len(words) < 3 else 1},
    }


def coordinates(diagram: Diagram) -> tuple[list[Json], dict[str, Any]]:
    """The coordinates of a diagram, across and up first; and for each the place of every cell's value, panel by
    panel."""
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
    return [coordinate(name, of) for name, of in values.items()], places


def _axis(name: str, axis: Axis) -> Json:
    """Positions of the values, borders of their cells, and the Vega-Lite scale and axis with the ticks of figures. Its
    ends fall on whole pixels, so that no seam is seen between cells."""
    ticks = [(at, PLAIN.value(value)) for at, value in axis.ticks if value is not None]
    edges = short(axis.edges)
    scale: Json = {"type": "linear", "zero": False} if axis.kind != "log" else {"type": "log"}
    return {
        "kind": axis.kind,
        "at": short(axis.at),
        "edges": edges,
        "encoding": {
            "scale": scale | {"domain": [edges[0], edges[-1]], "nice": False, "round": True},
            "axis": {
                "title": PLAIN.axis(name),
                "values": [at for at, _ in ticks],
                "labelExpr": chosen([at for at, _ in ticks], [label for _, label in ticks]),
            },
        },
    }


def chosen(values: list[float], labels: list[str]) -> str:
    """A Vega expression: the label of a tick's value. Labels enter as JSON text, never as an expression."""
    return f"{json.dumps(labels)}[indexof({json.dumps(values)}, datum.value)]"


def colour(title: str, limits: tuple[float, float], kind: AxisKind, colours: str) -> Json:
    """A Vega-Lite encoding of numbers as colours, the same ones as in figures, with the title that these have."""
    space = np.geomspace if kind == "log" else np.linspace
    domain = [float(f"{value:.9g}") for value in space(*limits, STOPS)]
    words = title + (", log scale" if kind == "log" else "")
    return {
        "scale": {"type": kind, "domain": domain, "range": shades(colours, STOPS), "clamp": True},
        "legend": {"title": words, "orient": "top", "direction": "horizontal", "tickCount": 5},
    }


def height(title: str, reach: tuple[float, float] | None, kind: AxisKind) -> Json:
    """The same numbers as an axis of curves; reach None: fractions."""
    limits = {"domain": [-0.03, 1.03] if reach is None else list(reach), "nice": reach is not None}
    scale = {"type": kind, **limits, **({"clamp": True} if kind == "log" else {"zero": False})}
    ticks = {"values": [0, 0.2, 0.4, 0.6, 0.8, 1]} if reach is None else {"tickCount": 6}
    return {"scale": scale, "axis": {"title": title, "grid": True, **ticks}}


def series(words: list[str], theme: str) -> Json:
    """The colours of lines; of more than there are, shades of one map. One alone is named by the axis."""
    own = THEMES[theme]["lines"]
    colours = own[: len(words)] if len(words) <= len(own) else shades("viridis", len(words), 0.15, 0.93)
    legend = {"title": None, "orient": "top", "columns": 6, "symbolLimit": 24} if len(words) > 1 else None
    return {"scale": {"domain": words, "range": colours}, "legend": legend}


def strokes(lines: list[tuple[str, bool]], theme: str) -> Json:
    """Scales of colour and dash for lines of theory, each (label, whether it brackets another)."""
    main = list(dict.fromkeys(label for label, secondary in lines if not secondary))
    rank = {label: main.index(label) % 4 if label in main else 0 for label, _ in lines}
    look = THEMES[theme]
    colours = {label: look["curves"][k] for label, k in rank.items()}
    dashes = {label: DASHES[k] if label in main else SECONDARY for label, k in rank.items()}
    return {"stroke": ordinal(colours), "dash": ordinal(dashes)}


def ordinal(looks: dict[str, Any]) -> Json:
    """A scale from labels to how each looks."""
    return {"domain": list(looks), "range": list(looks.values())}


def short(values: Array) -> list[float]:
    """Positions in few digits."""
    return [float(f"{value:.6g}") for value in values]


def shades(scale: str, count: int, low: float = 0.0, high: float = 1.0) -> list[str]:
    """A part of a colour map as so many colours."""
    return [matplotlib.colors.to_hex(c) for c in matplotlib.colormaps[scale](np.linspace(low, high, count))]
