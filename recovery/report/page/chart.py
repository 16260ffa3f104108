"""The chart of a diagram for a notebook: the first view of the HTML page, as an Altair chart."""

import base64
import json
import re
from io import BytesIO
from typing import Any

import altair as alt
import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from recovery.report.claims import Analysis
from recovery.report.page.encodings import ALONE, THEMES, Json
from recovery.report.page.payload import payload
from recovery.report.page.template import CURVES, MAP, PICTURE, SCHEMA, config, fill, templates
from recovery.types import Array

LARGE = 20_000
"""Diagrams with more grid cells than this are drawn as a picture."""
PIXELS = (1500, 1080)
"""Width and height of the picture of a panel."""
TAG_START = re.compile("<(?=[/!s])", re.IGNORECASE)
"""Altair copies a specification into a script without escaping it, so `</script>` or `<!--` in a title would end the
script. A zero-width space is inserted after each such `<`."""


def chart(analysis: Analysis, kind: str) -> alt.ConcatChart:
    """Return the diagram as an Altair chart with one or several panels; kind as in `payload`.

    The tables are JSON text in `datasets`, because Altair takes seconds to validate every number of a table.
    """
    tables: dict[str, str] = {}
    spec = _named(Picture(payload(analysis, kind, every=False)).spec(), tables)
    # the specification is not validated here, because Altair validates a chart when it displays it
    result: alt.ConcatChart = alt.ConcatChart.from_dict(spec, validate=False)
    result.datasets = tables
    return result


def _named(part: Any, tables: dict[str, str]) -> Any:
    """Move the tables of a specification into `tables` as JSON, and make its text safe inside a script."""
    if isinstance(part, str):
        return TAG_START.sub("<\u200b", part)
    if isinstance(part, list):
        return [_named(inner, tables) for inner in part]
    if not isinstance(part, dict):
        return part
    if list(part) != ["values"]:
        return {name: _named(inner, tables) for name, inner in part.items()}
    name = f"table{len(tables)}"
    tables[name] = TAG_START.sub("<\u200b", json.dumps(part["values"], default=np.generic.item))
    return {"name": name, "format": {"type": "json"}}


class Picture:
    """The first view of a grid's data, on a white background; the Python counterpart of `View` in view.js."""

    def __init__(self, grid: Json) -> None:
        self.grid, self.choice, self.map = grid, grid["choices"][0], grid["form"] == "map"
        keys = {key["name"]: key for key in grid["keys"]}
        self.x, self.y = keys[grid["x"]], keys.get(grid["y"])
        self.across = next(iter(self.x["axes"].values()))
        self.up = next(iter(self.y["axes"].values())) if self.y else ALONE
        self.look = self.choice["looks"][0]
        self.scales = next(iter(self.look["scales"].values()))
        self.at = grid["places"][self.x["name"]]
        self.row = grid["places"][self.y["name"]] if self.y else [0] * len(self.at)
        if "pair" in self.choice:
            pair = grid["pairs"]["of"][self.choice["pair"]]
            self.value, self.low, self.high = (
                [grid["pairs"][of][k] for k in pair] for of in ("value", *self.look["ends"])
            )
        else:
            columns = self.choice["columns"]
            self.value = columns[self.look["of"]]
            self.low, self.high = (columns.get(of, self.value) for of in self.look["ends"])

    def spec(self) -> Json:
        """Return the Vega-Lite specification of the first view, with one chart per panel."""
        grid, theme = self.grid, THEMES["light"]
        width = 340 if len(grid["panels"]) > 1 else 560
        size = {"width": width, "height": round(width * (0.72 if self.map else 0.6))}
        strokes = grid["strokes"][grid["form"]]["light"]
        common = {
            "size": size,
            "x": self.across["encoding"],
            "y": self.up["encoding"] if self.map else self.scales["height"],
            "series": self.y["series"]["light"] if self.y else grid["alone"]["light"],
            "shapes": self.choice["shapes"][1],
            **strokes,
            **{name: theme[name] for name in ("halo", "ink", "symbol")},
            **{name: self.x[name] for name in ("dot", "joined")},
            "bars": self.look["bars"],
            "tooltip": self._tooltip(),
            "here": {"values": []},
        }
        ends = np.cumsum([0, *(panel["cells"] for panel in grid["panels"])]).tolist()
        concat: list[Json] = []
        for panel, first, last in zip(grid["panels"], ends, ends[1:], strict=False):
            title = {"text": panel["title"]} | ({"subtitle": panel["caption"]} if panel["caption"] else {})
            parts = common | self._data(panel, range(first, last), size)
            parts |= {"title": title, "colour": self._colour(len(concat))}
            filled = fill(MAP if self.map else CURVES, parts)
            own = parts["cells"]["values"]
            filled["layer"] = [one for one in filled["layer"] if (rows := one["data"]["values"]) or rows is own]
            if self.map and len(self.at) > LARGE:
                filled["layer"][0] = fill(PICTURE, parts)
            concat.append(filled)
        return {
            "$schema": SCHEMA,
            "title": {"text": grid["title"], "fontSize": 15},
            "config": config(theme) | {"background": "white"},
            "columns": 2,
            "concat": concat,
            "resolve": templates()["own" if "panels" in self.scales else "shared"],
        }

    def _colour(self, i: int) -> Json:
        colour: Json = self.scales["panels"][i] if "panels" in self.scales else self.scales["colour"]
        return colour

    def _data(self, panel: Json, cells: range, size: Json) -> Json:
        """Return the tables that the chart of one panel draws, by name."""
        known = [k for k in cells if self.value[k] is not None]
        rows = [self._cell(k) for k in (known if self.map else sorted(known, key=lambda k: int(self.at[k])))]
        if self.map and len(self.at) > LARGE:
            rows = [{"url": self._painted(cells, self._colour(self.grid["panels"].index(panel)))}]
        unmeasured = not known and any(self.grid["ok"][k] for k in cells)
        note = self.grid["notes"]["unmeasured" if unmeasured else "empty"]
        here = set(cells)
        marks = [
            {"x": self.across["at"][self.at[k]], "y": self.up["at"][self.row[k]], "mark": mark["label"]}
            for mark in (*self.grid["marks"], *self.choice["marks"])
            for k in here.intersection(mark["cells"])
        ]
        tables = {
            "cells": rows,
            "note": [{"text": note}] if unmeasured or not len(cells) else [],
            "lines": self.grid["lines"] if self.map else panel["theory"],
            "points": [*marks, *panel["points"]],
            **{name: panel[name] for name in ("half", "contour", "band", "printed")},
        }
        return {name: {"values": table} for name, table in tables.items()}

    def _cell(self, k: int) -> Json:
        """Return the row of grid cell k: its coordinates in words, position, value and interval."""
        words = {f"c{j}": key["words"][self.grid["places"][key["name"]][k]] for j, key in enumerate(self.grid["keys"])}
        row = {**words, "low": self.low[k], "high": self.high[k], "ok": self.grid["ok"][k]}
        at, up = self.at[k], self.row[k]
        if not self.map:
            series = self.y["words"][up] if self.y else self.look["label"]
            return row | {"x": self.across["at"][at], "y": self.value[k], "series": series}
        start, stop = self._span(k)
        (x, x2), (y, y2) = (self.across["edges"][end] for end in (start, stop)), self.up["edges"][up : up + 2]
        return row | {"x": x, "x2": x2, "y": y, "y2": y2, "v": self.value[k]}

    def _span(self, k: int) -> tuple[int, int]:
        """Return the first place on the x axis that grid cell k covers, and the place after the last."""
        spans = self.grid.get("spans")
        return (spans["start"][k], spans["stop"][k]) if spans else (self.at[k], self.at[k] + 1)

    def _tooltip(self) -> Json:
        ends = self.look["headings"]
        titles = {f"c{j}": key["label"] for j, key in enumerate(self.grid["keys"])}
        titles |= {
            "v" if self.map else "y": self.look["label"],
            "low": ends[0],
            "high": ends[1],
            "ok": "finished trials",
        }
        return {"tooltip": [{"field": name, "title": words} for name, words in titles.items()]}

    def _painted(self, cells: range, colour: Json) -> str:
        """Return the grid cells of a panel as the data URL of a PNG picture."""
        matrix = np.full((len(self.up["at"]), len(self.across["at"])), np.nan)
        for k in cells:
            matrix[self.row[k], slice(*self._span(k))] = np.nan if self.value[k] is None else self.value[k]
        scale = colour["scale"]
        domain, unit = np.array(scale["domain"]), np.log if scale["type"] == "log" else np.asarray
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (unit(matrix) - unit(domain)[0]) / (unit(domain)[-1] - unit(domain)[0])
        picture = LinearSegmentedColormap.from_list("cells", scale["range"])(np.clip(part, 0, 1))
        picture[np.isnan(part)] = 0
        columns, lines = _cells_at(self.across, PIXELS[0]), _cells_at(self.up, PIXELS[1])
        buffer = BytesIO()
        matplotlib.image.imsave(buffer, picture[lines[::-1]][:, columns], format="png")
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _cells_at(axis: Json, count: int) -> Array:
    """Return the index of the grid cell that each of `count` pixels along an axis belongs to."""
    edges = np.log(axis["edges"]) if axis["kind"] == "log" else np.array(axis["edges"])
    middles = edges[0] + (np.arange(count) + 0.5) / count * (edges[-1] - edges[0])
    return np.clip(np.searchsorted(edges, middles) - 1, 0, len(edges) - 2)
