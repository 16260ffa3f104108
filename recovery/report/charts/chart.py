"""The chart of a diagram for a notebook: the page's templates, filled with what the diagram shows."""

import base64
import json
import re
from io import BytesIO
from typing import Any

import altair as alt
import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from recovery.report.charts.axes import Json, shades
from recovery.report.charts.payload import payload
from recovery.report.charts.spec import (
    CURVES,
    DASHES,
    MAP,
    MARKS,
    PICTURE,
    POINT_KEY,
    SCHEMA,
    SECONDARY,
    THEMES,
    config,
    fill,
)
from recovery.report.claims import Analysis
from recovery.types import Array

LARGE = 20_000
"""Cells of a diagram from which on they are painted."""
WIDE = 340
PIXELS = (1500, 1080)
"""Of a painted panel."""
LIGHT = THEMES["light"]
INERT = re.compile("<(?=[/!s])", re.IGNORECASE)
"""Altair writes a specification into a script as it stands, where `</script>` or `<!--` in a title would not be text. A
space without width stands in between."""
ALONE: Json = {"at": [0.0], "edges": [-0.5, 0.5], "kind": "even", "encoding": {"axis": None}}
"""What goes up where nothing does."""


def chart(analysis: Analysis, kind: str) -> alt.ConcatChart:
    """The diagram as an Altair chart of one panel or several; kind as in `payload`.

    Its data are JSON text in `datasets`: Altair would look at each number of a table for several seconds.
    """
    whole = specification(payload(analysis, kind, every=False))
    found: alt.ConcatChart = alt.ConcatChart.from_dict(_named(whole, tables := dict[str, str]()))
    found.datasets = tables
    return found


def _named(part: Any, tables: dict[str, str]) -> Any:
    """A specification with names for its tables, which are put into `tables` as JSON; no text of it ends a script."""
    if isinstance(part, str):
        return INERT.sub("<\u200b", part)
    if isinstance(part, list):
        return [_named(inner, tables) for inner in part]
    if not isinstance(part, dict):
        return part
    if list(part) != ["values"]:
        return {name: _named(inner, tables) for name, inner in part.items()}
    name = f"table{len(tables)}"
    tables[name] = INERT.sub("<\u200b", json.dumps(part["values"], default=np.generic.item))
    return {"name": name, "format": {"type": "json"}}


def specification(grid: Json) -> Json:
    """The Vega-Lite specification of one grid's data, as the page opens it on white ground."""
    drawn = _map if grid["form"] == "map" else _curves
    ends = np.cumsum([0, *(panel["cells"] for panel in grid["panels"])])
    parts = [drawn(grid, panel, range(*ends[i : i + 2]), i) for i, panel in enumerate(grid["panels"])]
    common = _common(grid, parts)
    template = MAP if grid["form"] == "map" else CURVES
    panels = []
    for panel, part in zip(grid["panels"], parts, strict=True):
        words = {"text": panel["title"], **({"subtitle": panel["brief"]} if panel["brief"] else {})}
        one = fill(template, {**common, **part, "title": words})
        if "whole" in part:
            one["layer"][0] = fill(PICTURE, {**common, **part})
        panels.append(one)
    return {
        "$schema": SCHEMA,
        "title": {"text": grid["title"], "fontSize": 15},
        "config": config(LIGHT) | {"background": "white"},
        "columns": 2,
        "concat": panels,
        "resolve": {"scale": dict.fromkeys(("fill", "stroke", "strokeDash", "shape", "color"), "shared")},
    }


def _look(grid: Json) -> tuple[Json, list[Any], list[Any], list[Any]]:
    """What is shown, and of every cell its value and the ends of its interval or range."""
    choice = grid["choices"][0]
    if "pair" in choice:
        pair = grid["pairs"]["of"][choice["pair"]]
        values, low, high = ([grid["pairs"][of][k] for k in pair] for of in ("value", "low", "high"))
    else:
        columns = choice["columns"]
        values = columns["median"]
        low, high = (columns.get(of, values) for of in ("lowest", "highest"))
    return choice["looks"][0], values, low, high


def _axes(grid: Json) -> tuple[Json, Json | None]:
    named = {key["name"]: key for key in grid["keys"]}
    return named[grid["x"]], named.get(grid["y"])


def _way(key: Json) -> Json:
    return next(iter(key["ways"].values()))


def _size(grid: Json) -> dict[str, int]:
    """Pixels of a panel's plane."""
    whole = WIDE if len(grid["panels"]) > 1 else 560
    return {"width": whole, "height": round(whole * (0.72 if grid["form"] == "map" else 0.6))}


def _common(grid: Json, parts: list[Json]) -> Json:
    x, _ = _axes(grid)
    size = _size(grid)
    whole, tall = size["width"], size["height"]
    lines = grid["lines"] if grid["form"] == "map" else grid["theory"]
    main = list(dict.fromkeys(line["label"] for line in lines if not line.get("secondary")))
    second = {line["label"] for line in lines if line.get("secondary")}
    labels = list(dict.fromkeys(line["label"] for line in lines))
    rank = {label: main.index(label) % 4 if label in main else 0 for label in labels}
    strokes = {label: LIGHT["curves"][rank[label]] for label in labels}
    dashes = {label: SECONDARY if label in second else DASHES[rank[label]] for label in labels}
    if any(part["free"]["values"] for part in parts):
        strokes[grid["half"]["free"]], dashes[grid["half"]["free"]] = LIGHT["free"], [1, 0]
    used = {row["mark"] for part in parts for row in part["points"]["values"]}
    shapes = {mark: shape for mark, shape in {**MARKS, grid["half"]["label"]: "circle"}.items() if mark in used}
    return {
        "size": size,
        "middle": {"value": whole / 2},
        "centre": {"value": tall / 2},
        "stroke": _scale(strokes),
        "dash": _scale(dashes),
        "shape": _scale(shapes) | {"legend": {**POINT_KEY, "symbolStrokeColor": LIGHT["ink"]} if shapes else None},
        "halo": {"stroke": LIGHT["halo"]},
        "weight": {"strokeWidth": 2 if grid["form"] == "map" else 1.4},
        "ink": {"color": LIGHT["ink"]},
        "dot": {"size": min(36.0, max(12.0, (whole / len(x["values"])) ** 2 / 6))},
        "here": {"values": [{"here": 0}]},
    }


def _scale(found: dict[str, Any]) -> Json:
    """A scale of labels; where there is none, no key."""
    if not found:
        return {"scale": {"domain": [""], "range": ["#888888"]}, "legend": None}
    return {"scale": {"domain": list(found), "range": list(found.values())}}


def _map(grid: Json, panel: Json, cells: range, i: int) -> Json:
    x, y = _axes(grid)
    look, values, low, high = _look(grid)
    across, up = _way(x), _way(y) if y else ALONE
    px, py = grid["places"][x["name"]], grid["places"][y["name"]] if y else np.zeros(len(values), dtype=int)
    rows = [
        {
            "x": across["edges"][px[k]],
            "x2": across["edges"][px[k] + 1],
            "y": up["edges"][py[k]],
            "y2": up["edges"][py[k] + 1],
        }
        | {"v": values[k], **_words(grid, k, low, high)}
        for k in cells
        if values[k] is not None
    ]
    colour = next(iter(look["ways"].values()))
    part: Json = {"x": across["encoding"], "y": up["encoding"], "colour": colour, "cells": {"values": rows}}
    part["tooltip"] = _tooltip(grid, "v", look["label"])
    if len(values) > LARGE:
        here = slice(cells.start, cells.stop)
        painted = _painted(across, up, px[here], py[here], values[here], colour)
        part |= {"cells": {"values": [{"url": painted}]}, "whole": _size(grid)}
    marks = [{"x": across["at"][px[k]], "y": up["at"][py[k]], "mark": mark} for k in cells for mark in _marks(grid, k)]
    along = grid["half"]["along"] == x["name"]

    def span(place: float, first: float, last: float) -> Json:
        at = (up if along else across)["at"][int(place)]
        ends = {"x": first, "x2": last, "y": at, "y2": at}
        return ends if along else {"x": at, "x2": at, "y": first, "y2": last}

    half = [span(k, first, last) for k, _, first, last in panel["half"]]
    points = [
        {"x": middle, "y": row["y"]} if along else {"x": row["x"], "y": middle}
        for row, (_, middle, _, _) in zip(half, panel["half"], strict=True)
    ]
    part["half"] = {"values": half}
    part["points"] = {"values": [*marks, *(point | {"mark": grid["half"]["label"]} for point in points)]}
    part["free"] = {"values": [span(*row) | {"label": grid["half"]["free"]} for row in panel["free"]]}
    lines = [
        {"x": a, "y": b, "k": k, "part": number, "label": line["label"], "second": line["secondary"]}
        for number, line in enumerate(grid["lines"])
        for k, (a, b) in enumerate(line["points"])
    ]
    part["lines"] = {"values": lines}
    part["main"] = {"values": [row for row in lines if not row["second"]]}
    part["note"] = {"values": _note(grid, cells, values)}
    return part


def _curves(grid: Json, panel: Json, cells: range, i: int) -> Json:
    x, y = _axes(grid)
    look, values, low, high = _look(grid)
    across, words = _way(x), y["words"] if y else [look["label"]]
    px, py = grid["places"][x["name"]], grid["places"][y["name"]] if y else np.zeros(len(values), dtype=int)
    rows = [
        {"x": across["at"][px[k]], "y": values[k], "series": words[py[k]], **_words(grid, k, low, high)}
        for k in sorted(cells, key=lambda k: int(px[k]))
        if values[k] is not None
    ]
    scale = next(iter(look["ways"].values()))["scale"]
    fraction = "pair" in grid["choices"][0]
    ends = [v for v in (*low, *values, *high) if v is not None and (scale["type"] != "log" or v > 0)]
    reach = [-0.03, 1.03] if fraction else [min(ends), max(ends)] if ends else [0.1, 1]
    up: Json = {"scale": {"type": scale["type"], "domain": reach, "nice": not fraction}}
    up["axis"] = {"title": look["label"], "grid": True, **({"values": [0, 0.2, 0.4, 0.6, 0.8, 1]} if fraction else {})}
    drawn = [
        line["points"] if len(line["points"]) > 1 else [[line["points"][0][0], end] for end in reach]
        for line in grid["theory"]
    ]
    theory = [
        {"x": a, "y": b, "k": k, "part": number, "label": line["label"]}
        for number, line in enumerate(grid["theory"])
        if line["panel"] == i
        for k, (a, b) in enumerate(drawn[number])
    ]
    several = len(words) > 1
    colours = LIGHT["lines"][: len(words)] if len(words) <= len(LIGHT["lines"]) else shades("viridis", len(words))
    legend = {"title": None, "orient": "top", "columns": 6, "symbolLimit": 24} if several else None
    return {
        "x": across["encoding"],
        "y": up,
        "cells": {"values": rows},
        "lines": {"values": theory},
        "series": {"scale": {"domain": words, "range": colours}, "legend": legend},
        "joined": {"opacity": 0 if isinstance(x["values"][0], str) else 1},
        "tooltip": _tooltip(grid, "y", look["label"]),
        "note": {"values": _note(grid, cells, values)},
        **{name: {"values": []} for name in ("half", "points", "free", "main")},
    }


def _words(grid: Json, k: int, low: list[Any], high: list[Any]) -> Json:
    """What a tooltip says of a cell beside its value; no coordinate's name becomes a path."""
    places = {f"c{j}": key["words"][grid["places"][key["name"]][k]] for j, key in enumerate(grid["keys"])}
    return {**places, "low": low[k], "high": high[k], "ok": grid["ok"][k]}


def _tooltip(grid: Json, field: str, title: str) -> Json:
    names = {f"c{j}": key["label"] for j, key in enumerate(grid["keys"])}
    ends = ("95 % low", "95 % high") if "pair" in grid["choices"][0] else ("lowest", "highest")
    titles = {**names, field: title, "low": ends[0], "high": ends[1], "ok": "finished trials"}
    return {"tooltip": [{"field": name, "title": words} for name, words in titles.items()]}


def _marks(grid: Json, k: int) -> list[str]:
    found = []
    if grid["ok"][k] == 0:
        found.append("nothing finished")
    elif grid["failed"][k] + grid["missing"][k]:
        found.append("failed or missing trials")
    undecided = grid["choices"][0]["undecided"]
    return [*found, "undecided trials"] if undecided and undecided[k] else found


def _note(grid: Json, cells: range, values: list[Any]) -> list[Json]:
    if not len(cells):
        return [{"text": "no trials yet"}]
    silent = all(values[k] is None for k in cells) and any(grid["ok"][k] for k in cells)
    return [{"text": "not measured" if silent else ""}]


def _painted(across: Json, up: Json, px: Any, py: Any, values: list[Any], colour: Json) -> str:
    """The cells of a panel as a PNG picture in the pixels of its axes."""
    matrix = np.full((len(up["at"]), len(across["at"])), np.nan)
    matrix[np.asarray(py), np.asarray(px)] = np.array(values, dtype=float)
    domain = np.array(colour["scale"]["domain"])
    unit = np.log if colour["scale"]["type"] == "log" else np.asarray
    with np.errstate(divide="ignore", invalid="ignore"):
        part = (unit(matrix) - unit(domain)[0]) / (unit(domain)[-1] - unit(domain)[0])
    picture = LinearSegmentedColormap.from_list("cells", colour["scale"]["range"])(np.clip(part, 0, 1))
    picture[np.isnan(part)] = 0
    columns, lines = _cells_at(across, PIXELS[0]), _cells_at(up, PIXELS[1])
    buffer = BytesIO()
    matplotlib.image.imsave(buffer, picture[lines[::-1]][:, columns], format="png")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _cells_at(way: Json, count: int) -> Array:
    """Which cell each pixel along an axis belongs to."""
    edges = np.log(way["edges"]) if way["kind"] == "log" else np.array(way["edges"])
    middles = edges[0] + (np.arange(count) + 0.5) / count * (edges[-1] - edges[0])
    return np.clip(np.searchsorted(edges, middles) - 1, 0, len(edges) - 2)
