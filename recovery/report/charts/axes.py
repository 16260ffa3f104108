"""The coordinates of a diagram as Vega-Lite has them: a cell's borders, its middle, scale and ticks, each way it may
stand."""

import json
from typing import Any

import matplotlib
import numpy as np

from recovery.report.diagram import Axis, Diagram, describe, levels, value_words
from recovery.report.figures.names import LETTERS
from recovery.types import Array

Json = dict[str, Any]
PLAIN = {"$": "", r"\sigma": "σ", r"\beta": "β", r"\eta": "η", r"\tau": "τ"}  # noqa: RUF001
"""The papers' letters without mathematics markup."""


def axis_words(name: str) -> str:
    """A coordinate for an axis: the paper's letter, or the last part of its path in words."""
    last = name.split(".")[-1]
    words = LETTERS.get(last, "")
    for markup, letter in PLAIN.items():
        words = words.replace(markup, letter)
    return words or last.replace("_", " ")


def coordinate(name: str, values: Any) -> Json:
    """One coordinate: its name, its words, those of its values, and the ways that it can stand on an axis."""
    axis = Axis(values)
    return {
        "name": name,
        "label": axis_words(name),
        "values": [value.item() if isinstance(value, np.generic) else value for value in values],
        "words": [describe({name: value}) for value in values],
        "ways": {kind: _standing(name, Axis(values, kind)) for kind in axis.kinds},
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
        here = [np.full(len(panel.cells), values[name].index(panel.where[name])) for panel in panels]
        places[name] = np.concatenate(here)
    return [coordinate(name, found) for name, found in values.items()], places


def _standing(name: str, axis: Axis) -> Json:
    """Positions of the values, borders of their cells, and the Vega-Lite scale and axis with the ticks of figures."""
    ticks = [(at, value_words(value)) for at, value in axis.ticks if value is not None]
    edges = short(axis.edges)
    return {
        "kind": axis.kind,
        "at": short(axis.at),
        "edges": edges,
        "encoding": {
            "scale": {
                "type": "log" if axis.kind == "log" else "linear",
                "domain": [edges[0], edges[-1]],
                "nice": False,
                **({} if axis.kind == "log" else {"zero": False}),
            },
            "axis": {
                "title": axis_words(name),
                "values": [at for at, _ in ticks],
                "labelExpr": chosen([at for at, _ in ticks], [label for _, label in ticks]),
            },
        },
    }


def chosen(values: list[float], labels: list[str]) -> str:
    """A Vega expression: the label of a tick's value. Labels enter as JSON text, never as an expression."""
    return f"{json.dumps(labels)}[indexof({json.dumps(values)}, datum.value)]"


def short(values: Array) -> list[float]:
    """Positions in few digits."""
    return [float(f"{value:.6g}") for value in values]


def shades(scale: str, count: int) -> list[str]:
    """A colour map as so many colours."""
    return [matplotlib.colors.to_hex(c) for c in matplotlib.colormaps[scale](np.linspace(0, 1, count))]
