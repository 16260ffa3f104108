"""Cells as CSV and JSON: every measured column of the grid, not only the one that a diagram shows."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.report.statistics import wilson
from recovery.report.texts.text import csv_text, json_columns


def cell_table(diagram: Diagram) -> pd.DataFrame:
    """One row a cell: coordinates, counts; for each proportion its counts, fraction, 95 % Wilson interval and the
    bracket of unfinished trials; for each number its count, mean, median and range."""
    blocks = [diagram.cells.keys, diagram.cells.counts()]
    for quantity in diagram.measured:
        tally = diagram.tally(quantity).drop(columns=["value", "undefined"])
        if quantity.proportion(diagram.frame):
            with np.errstate(invalid="ignore"):
                tally.insert(3, "fraction", tally["yes"] / (tally["yes"] + tally["no"]))
            low, high = wilson(tally["yes"].to_numpy(), tally["no"].to_numpy())
            tally.insert(4, "low", low)
            tally.insert(5, "high", high)
        blocks.append(tally.add_prefix(f"{quantity}_"))
    return pd.concat(blocks, axis=1)


def as_csv(analyses: list[Analysis]) -> str:
    """The cells of every grid under one header; with more than one grid, a first column names the sweep."""
    diagrams = [analysis.diagram for analysis in analyses]
    tables = [cell_table(analysis.diagram).join(_crossings(analysis)) for analysis in analyses]
    if len(tables) > 1:
        for table, diagram in zip(tables, diagrams, strict=True):
            table.insert(0, "sweep", diagram.name)
    return csv_text(pd.concat(tables, ignore_index=True))


def _crossings(analysis: Analysis) -> pd.DataFrame:
    """n50 of the cell's d, for cells of a proportion over n and d: by the model (`n50`) and without a curve, each with
    its 95 % interval."""
    names = {"n": "n50", "low": "n50_low", "high": "n50_high", "no_curve": "n50_no_curve"}
    names |= {f"no_curve_{end}": f"n50_no_curve_{end}" for end in ("low", "high")}
    table, parts = pd.DataFrame(analysis.sizes()), [pd.DataFrame(index=[])]
    for panel in analysis.diagram.panels if len(table) else []:
        known = table[table["panel"] == panel.title].set_index("d")[list(names)].rename(columns=names)
        parts.append(panel.cells[["d"]].join(known, on="d")[list(names.values())])
    return pd.concat(parts)


def as_json(analyses: list[Analysis]) -> str:
    """A list with one object a grid: what is shown, totals, thresholds, pooled and at each size, claims, config and
    provenance, and the cells, a list a column."""
    return f"[{', '.join(map(_document, analyses))}]\n"


def _document(analysis: Analysis) -> str:
    diagram = analysis.diagram
    layout = diagram.layout
    document = {
        "sweep": diagram.name,
        "title": diagram.title,
        "results": Path(diagram.grid.path).as_posix(),
        "value": str(diagram.quantity),
        "x": layout.x,
        "y": layout.y,
        "panels": list(layout.panels),
        "totals": diagram.totals,
        "thresholds": records(pd.DataFrame(analysis.thresholds())),
        "claims": [asdict(claim) for claim in analysis.claims],
        "sizes": records(pd.DataFrame(analysis.sizes())),
        "sweep_json": dict(diagram.grid.sweep),
    }
    text = json.dumps(document, allow_nan=False, default=str)
    return f'{text[:-1]}, "cells": {json_columns(cell_table(diagram))}}}'


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as plain values that JSON can hold; NaN and nulls become None, infinities text."""
    plain = table.astype(object).where(table.notna(), None)
    names = [str(name) for name in plain.columns]
    return [dict(zip(names, map(_plain, row), strict=True)) for row in plain.itertuples(index=False, name=None)]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return "inf" if value > 0 else "-inf"
    return value
