"""The cells of a diagram as the page's script wants them: columns of plain numbers, rounded, one list entry a cell."""

from dataclasses import replace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

from recovery.report.claims import Analysis
from recovery.report.diagram import Axis, Cells, Diagram, Quantity, lines, scale_of
from recovery.report.figures import letters
from recovery.report.statistics import COLUMNS, FINE, TOLERANCES, sizes_in_words
from recovery.types import Array

MOST_IDS = 50_000
"""Grids with more trials than this list only those that failed, by cell."""


def payload(analysis: Analysis) -> dict[str, Any]:
    """One grid: axes, panels, quantities with their counts, certificates, trial ids, theory curves."""
    diagram = analysis.diagram
    layout, table = diagram.layout, diagram.table
    order = np.concatenate([panel.cells.index.to_numpy() for panel in diagram.panels])
    column = _Columns(order)
    counts = diagram.cells.counts()
    fine = len(table) > FINE
    return {
        "name": diagram.name,
        "title": diagram.heading,
        "path": diagram.grid.path.as_posix(),
        "x": axis_of(layout.x, diagram.panels[0].x),
        "y": axis_of(layout.y, diagram.panels[0].y),
        "panels": [
            {
                "letter": f"({letters(i)}) ",
                "title": p.title,
                "words": analysis.panel_words(i),
                "cells": len(p.cells),
                "half": _half(analysis, i),
                "free": _free(analysis, i),
            }
            for i, p in enumerate(diagram.panels)
        ],
        "ix": np.concatenate([panel.cells["ix"].to_numpy() for panel in diagram.panels]).tolist(),
        "iy": np.concatenate([panel.cells["iy"].to_numpy() for panel in diagram.panels]).tolist(),
        **{name: column(counts[name]) for name in ("trials", "ok", "failed", "missing")},
        "quantities": [
            _quantity(diagram, quantity, column, fine) for quantity in diagram.measured[: 4 if fine else None]
        ],
        "sizes": sizes_in_words(diagram.panels[0]) if analysis.slices else "",
        "certificates": _certificates(diagram, column),
        "ids": _ids(diagram.cells, order),
        "curves": [
            {"label": line.label, "secondary": line.secondary, "points": np.round(line.points, 3).tolist()}
            for line in lines(diagram)
        ],
    }


def _half(analysis: Analysis, i: int) -> list[list[float]]:
    """n50 and its interval at every d, as [d, n50, low, high]."""
    if not analysis.slices:
        return []
    rows = [[d, t.estimate, t.low, t.high] for d, t in analysis.slices[i]]
    return [[round(value, 3) for value in row] for row in rows if np.isfinite(row).all()]


def _free(analysis: Analysis, i: int) -> list[list[float]]:
    """The ends of n50 without a curve at every d, as [d, low, high]."""
    if not analysis.pooled:
        return []
    rows = [[size.d, size.n50.low, size.n50.high] for size in analysis.pooled[i].sizes]
    return [[round(value, 3) for value in row] for row in rows if np.isfinite(row).all()]


class _Columns:
    """Puts per-cell columns into the page's order, as short numbers; NaN becomes None."""

    def __init__(self, order: Any) -> None:
        self.order = order

    def __call__(self, values: "pd.Series[Any] | Array") -> list[Any]:
        array = np.asarray(values)[self.order]
        if array.dtype.kind in "iu":
            return array.tolist()
        return [None if value != value else float(f"{value:.4g}") for value in array.tolist()]


def _quantity(diagram: Diagram, quantity: Quantity, column: _Columns, fine: bool) -> dict[str, Any]:
    tally = diagram.tally(quantity)
    scale = scale_of(diagram) if quantity == diagram.quantity else None
    content: dict[str, Any] = {
        "key": str(quantity),
        "label": quantity.label,
        "colours": shades(scale_of(replace(diagram, quantity=quantity)).colours),
        "undecided": column(tally["undecided"]),
    }
    if quantity.proportion(diagram.frame):
        return content | {"kind": "proportion", "yes": column(tally["yes"]), "no": column(tally["no"])}
    content |= {
        "kind": "number",
        "log": quantity.logarithmic if scale is None else scale.logarithmic,
        "limits": None if scale is None else scale.limits,
        **{name: column(tally[name]) for name in ("count", "median", *(() if fine else ("mean", "lowest", "highest")))},
    }
    if quantity.column in COLUMNS and not fine:
        tallies = diagram.cells.tallies(quantity.column, TOLERANCES)
        content["below"] = [
            {"at": bound, **{name: column(counts[name]) for name in counts}}
            for bound, counts in zip(TOLERANCES, tallies, strict=True)
        ]
    return content


def _certificates(diagram: Diagram, column: _Columns) -> dict[str, list[Any]]:
    """How often each kind of certificate decided, cell by cell."""
    if "certificate" not in diagram.frame:
        return {}
    kinds = diagram.frame["certificate"].astype("object").where(diagram.cells.finished, None)
    found = sorted(str(kind) for kind in kinds.dropna().unique())
    return {kind: column(diagram.cells.count((kinds == kind).to_numpy(dtype=bool))) for kind in found}


def _ids(cells: Cells, order: Any) -> list[str]:
    """For each cell its trials as `id id! id`, a failed one marked; beyond `MOST_IDS` trials only failed ones."""
    ok = cells.finished
    listed = np.ones_like(ok) if len(cells.frame) <= MOST_IDS else ~ok
    ids = cells.frame["trial_id"].astype(str).to_numpy()[listed]
    marked = [name if fine else f"{name}!" for name, fine in zip(ids, ok[listed], strict=True)]
    joined = pd.Series(marked, dtype=object).groupby(cells.code[listed]).agg(" ".join)
    full = joined.reindex(range(len(cells.keys)), fill_value="")
    return [str(value) for value in full.to_numpy()[order]]


def axis_of(name: str | None, values: Any) -> dict[str, Any]:
    """An axis as the script draws it: its values, where cells end, what is labelled, and whether it is logarithmic."""
    axis = Axis(values)
    ticks = [(at, value) for at, value in axis.ticks if value is not None]
    return {
        "name": name or "",
        "values": plain_values(values),
        "edges": [float(f"{edge:.6g}") for edge in axis.edges],
        "ticks": [[at, value if isinstance(value, str) else f"{value:g}"] for at, value in ticks],
        "log": axis.kind == "log",
    }


def shades(scale: str) -> list[str]:
    """A colour map as 65 colours."""
    return [matplotlib.colors.to_hex(c) for c in matplotlib.colormaps[scale](np.linspace(0, 1, 65))]


def plain_values(values: Any) -> list[Any]:
    """Axis values as JSON numbers or text."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]
