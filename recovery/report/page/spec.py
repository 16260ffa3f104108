"""A diagram as Vega-Lite specifications of plain dictionaries: the one drawing of HTML pages and notebooks.

A chart has a view per measured value. The rows of its dataset `cells` are the grid cells: columns that all views share,
and the columns of the view.
"""

import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from recovery.errors import ParameterError
from recovery.report.claims import Analysis
from recovery.report.diagram import Axis, Diagram, TheoryLine, lettered, lines, scale_of
from recovery.report.diagram.quantity import Quantity
from recovery.report.figures.bars import Bars
from recovery.report.figures.line_plots import by_ratio
from recovery.report.page.encodings import CONFIG, Json, colour, height, position, rounded, series
from recovery.report.page.layers import line_layers, map_layers
from recovery.report.texts.tables import columns_of
from recovery.text import command_text

if TYPE_CHECKING:
    from altair import ConcatChart

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""Identifier of the Vega-Lite version; nothing is fetched from this address."""
MOST_NUMBERS = 60_000
"""Largest product of measured values and grid cells on a page. It draws the first values and names the others."""
SHARED = dict.fromkeys(("fill", "stroke", "strokeDash", "shape", "color", "opacity"), "shared")
TAG_START = re.compile("<(?=[/!s])", re.IGNORECASE)
"""Altair copies a specification into a script without escaping it, so `</script>` or `<!--` in a title would end the
script. A zero-width space is inserted after each such `<`."""


@dataclass(frozen=True)
class Chart:
    """An analysis and the form of its drawing: `map`, `profile` (lines along x), or `ratios` (lines along n/d)."""

    analysis: Analysis
    form: str

    @cached_property
    def diagram(self) -> Diagram:
        """The diagram, along n/d for `ratios`."""
        return by_ratio(self.analysis.diagram) if self.form == "ratios" else self.analysis.diagram

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The grid cells in the order of the panels."""
        return pd.concat([panel.cells.assign(panel=i) for i, panel in enumerate(self.diagram.panels)])

    @cached_property
    def axes(self) -> tuple[str, Axis, str | None, list[Any]]:
        """The name and the values of the x axis, then of the y axis or of the lines."""
        layout, panel = self.diagram.layout, self.diagram.panels[0]
        return layout.x, Axis(panel.x, layout.x), layout.y, list(panel.y)

    @cached_property
    def columns(self) -> Json:
        """The columns that all views share: panel, coordinates, place, counts, and the command that repeats a trial."""
        diagram, cells, script = self.diagram, self.cells, self.diagram.script
        _, x, by, values = self.axes
        ix, words = cells["ix"].to_numpy(), [script.pair(by, value) if by else "" for value in values]
        keys = {f"c{k}": at for k, at in enumerate(columns_of(cells[diagram.layout.keys]).values())}
        place = {"x": x.at[ix]}
        if self.form == "map":
            iy, y = cells["iy"].to_numpy(), Axis(values)
            place = {"x": x.edges[ix], "x2": x.edges[ix + 1], "y": y.edges[iy], "y2": y.edges[iy + 1]}
        else:
            keys["series"] = [words[k] for k in cells["iy"]]
        # the trial that is repeated is a failed one of the cell, if there is one
        order = np.argsort(diagram.cells.finished, kind="stable")
        codes, first = np.unique(diagram.cells.code[order], return_index=True)
        trial = dict(zip(codes, diagram.frame["trial_id"].iloc[order[first]], strict=True))
        command = command_text("replay", diagram.grid.path)
        return {
            **{name: cells[name].tolist() for name in ("panel", "ok", "failed", "missing")},
            **keys,
            **{name: [rounded(value, 6) for value in at.tolist()] for name, at in place.items()},
            "replay": [f"{command} {trial[code]}" for code in cells.index],
        }

    @cached_property
    def _lines(self) -> list[list[TheoryLine]]:
        """The theory lines of each panel of a map."""
        return [lines(self.diagram, i) for i in range(len(self.diagram.panels))] if self.form == "map" else []

    @property
    def datasets(self) -> Json:
        """The tables that the views share besides the grid cells: the theory lines of a map."""
        rows = list[Json]()
        for i, theory in enumerate(self._lines):
            for part, line in enumerate(theory):
                about = {"panel": i, "part": part, "label": line.label, "secondary": line.secondary}
                points = line.points[np.isfinite(line.points).all(axis=1)].tolist()
                rows += [about | {"k": k, "x": rounded(x, 6), "y": rounded(y, 6)} for k, (x, y) in enumerate(points)]
        return {"lines": rows}

    @cached_property
    def _plane(self) -> Json:
        """The encodings of x and, for a map, of y, otherwise of the lines' colours."""
        (across, x, by, values), script = self.axes, self.diagram.script
        if self.form == "map":
            y, up = Axis(values, by), script.axis(by) if by else ""
            return {"x": position(x, script.axis(across), x.edges[[0, -1]]), "y": position(y, up, y.edges[[0, -1]])}
        words = [script.pair(by, value) if by else "" for value in values]
        return {"x": position(x, script.axis(across), x.reach)} | series(words, values)

    def views(self, every: bool = True) -> list[Json]:
        """Return the report's view; if `every`, also those of the other measured values with room (`kept`).

        A view has its label, the columns that only it has, the column and heading of each number in tooltips and tables
        (`facts`), and the specification, which refers to the datasets of the chart.
        """
        return [self._view(one) for one in self.diagram.measured[: self.kept if every else 1]]

    @property
    def kept(self) -> int:
        """The number of measured values that a page has room for, at least one."""
        return max(MOST_NUMBERS // max(len(self.cells), 1), 1)

    @property
    def left_out(self) -> list[str]:
        """The labels of the measured values that a page has no room for."""
        return [one.label for one in self.diagram.measured[self.kept :]]

    def _view(self, quantity: Quantity) -> Json:
        shown, panels = replace(self.diagram, quantity=quantity), self.diagram.panels
        own = self.analysis if quantity == self.diagram.quantity else None
        bars = Bars.of(shown, shown.table, means=self.form == "profile")
        numbers = bars.value, bars.low, bars.high
        counts = [name for name in ("yes", "no", "count", "undecided", "unmeasured") if name in shown.table]
        columns = {
            name: [rounded(value) if np.isfinite(value) else None for value in values[self.cells.index].tolist()]
            for name, values in zip(("v", "low", "high"), numbers, strict=True)
        }
        columns |= {name: shown.table[name].to_numpy()[self.cells.index].tolist() for name in counts}
        facts = {f"c{k}": self.diagram.script.axis(name) for k, name in enumerate(self.diagram.layout.keys)}
        facts |= {"v": bars.label, "low": bars.heads[0], "high": bars.heads[1]} | {name: name for name in counts}
        facts |= {"ok": "finished", "failed": "failed", "missing": "missing", "replay": "repeat a trial"}
        look = self._plane | {"tooltip": [{"field": name, "title": words} for name, words in facts.items()]}
        if self.form == "map":
            theory = [(line.label, line.secondary) for panel in self._lines for line in panel]
            look |= {"fill": colour(scale_of(shown))}
            layers = [map_layers(shown, own, panel, i, look, theory) for i, panel in enumerate(panels)]
        else:
            values = None if shown.proportion else np.concatenate(numbers)
            look["y"], x = height(bars.label, values, scale_of(shown).logarithmic), self.axes[1].values
            joined, pooled = len(x) > 2 and not isinstance(x[0], str), own if self.form == "ratios" else None
            lines_of = shown if own else None
            layers = [line_layers(lines_of, pooled, i, look, bars.words, joined) for i in range(len(panels))]
        concat = [self._panel(shown, own, i, layers[i]) for i in range(len(panels))]
        spec = {"concat": concat, "resolve": {"scale": SHARED}}
        return {"label": quantity.label, "columns": columns, "facts": facts, "spec": spec}

    def _panel(self, shown: Diagram, own: Analysis | None, i: int, layers: list[Json]) -> Json:
        """Return the chart of a panel: layers under its title with its letter, and the threshold of `own`, if any."""
        panels = self.diagram.panels
        title: Json = {"text": lettered(i, len(panels), self.diagram.script.where(panels[i].where))}
        if own and (threshold := own.caption(i)):
            title["subtitle"] = threshold
        if note := shown.panels[i].note:
            mark = {"type": "text", "fontSize": 14, "color": CONFIG["title"]["color"]}
            layers = [*layers, {"data": {"values": [{}]}, "mark": mark, "encoding": {"text": {"value": note}}}]
        return {"title": title, "width": 340, "height": 245 if self.form == "map" else 205, "layer": layers}


def altair_chart(analysis: Analysis, form: str) -> "ConcatChart":
    """Return the first view as an Altair chart, on white. Raises `ParameterError` if Altair is not installed."""
    try:
        import altair
        from altair.utils.schemapi import debug_mode
    except ImportError as error:
        raise ParameterError("chart needs the package altair: pip install 'recovery-lab[notebook]'") from error
    chart = Chart(analysis, form)
    (view,) = chart.views(every=False)
    columns = {**chart.columns, **view["columns"]}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    title = {"text": analysis.diagram.heading, "fontSize": 15}
    spec = {"$schema": SCHEMA, "title": title, "config": CONFIG | {"background": "white"}, "columns": 2, **view["spec"]}
    safe = json.loads(TAG_START.sub("<\u200b", json.dumps(spec)))
    # Altair validates a chart when it displays it. Until then panels stay plain dictionaries, because Altair validates
    # every part that it makes an object of, and tables are JSON text, because it would validate every number.
    with debug_mode(False):
        panels = [altair.LayerSpec(**panel) for panel in safe.pop("concat")]
    tables = {"cells": rows, **chart.datasets}
    datasets = {name: TAG_START.sub("<\u200b", json.dumps(table)) for name, table in tables.items()}
    return altair.ConcatChart(concat=panels, datasets=datasets, **safe)
