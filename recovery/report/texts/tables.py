"""Reports as CSV, as JSON with every measured column of the grid, and as LaTeX tables.

The terminal shares the rows of the last: thresholds with claims, means with a source's numbers, and chosen columns.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv

from recovery.interval import LEVEL
from recovery.report.claims import Analysis
from recovery.report.claims.lines import columns as line_rows
from recovery.report.claims.mean_tables import FAR, MeanTable, claimed_tables
from recovery.report.diagram import Diagram, default_quantity, rows_where, unknown
from recovery.report.diagram.quantity import Quantity, finished
from recovery.report.diagram.vocabulary import GREEK
from recovery.report.statistics import exact_interval
from recovery.text import printable, spreadsheet_text

ALL = "all"
"""The word for every measured column."""
LATEX = {letter: rf"\{name}" for name, letter in GREEK.items()} | {
    "±": r"\pm",
    "≤": r"\le",
    "≥": r"\ge",
    "∞": r"\infty",
}
"""Signs in reports, and their names in LaTeX's mathematics."""
_NUMBER = re.compile(r"(undetermined|((above|below|[<>]=) )?[-+]?\.?\d.*)?")
ANSWERS = ("yes", "no", "undecided", "unmeasured", "fraction", "low", "high", "level", "worst", "best")
"""Columns of a table for a proportion in a grid cell, each after the name of the quantity."""


def cell_table(diagram: Diagram, quantities: Iterable[Quantity]) -> pd.DataFrame:
    """Return one row per grid cell: coordinates, counts, and the summary of each quantity.

    A proportion has its counts, fraction, exact interval with its level, and the range that unfinished trials allow. A
    number has its count, mean, median and range.
    """
    blocks = [diagram.cells.keys, diagram.cells.counts()]
    for quantity in quantities:
        tally = diagram.tally(quantity).drop(columns="undefined")
        if quantity.proportion(diagram.frame):
            low, high = exact_interval(tally["yes"], tally["no"], unknown(tally))
            tally = tally.rename(columns={"value": "fraction"}).assign(low=low, high=high, level=LEVEL)
            tally = tally[list(ANSWERS)]
        else:
            tally = tally.drop(columns="value")
        blocks.append(tally.add_prefix(f"{quantity}_"))
    return pd.concat(blocks, axis=1)


def as_csv(analyses: list[Analysis], columns: Sequence[str] = ()) -> str:
    """Return the cells of all grids under one header. With several grids, the first column is the sweep.

    Cells have the shown values and `columns`; `all` adds every measured column.
    """
    diagrams = [analysis.diagram for analysis in analyses]
    tables = [cell_table(diagram, quantities(diagram, columns)) for diagram in diagrams]
    if len(diagrams) > 1:
        for diagram, table in zip(diagrams, tables, strict=True):
            table.insert(0, "sweep", diagram.name)
    return csv_text(pd.concat(tables, ignore_index=True))


def quantities(diagram: Diagram, columns: Sequence[str]) -> list[Quantity]:
    """Return the shown quantities, then the named ones, or every measured one for `all`. Raises `ReportError`."""
    named = [default_quantity(diagram.frame, name, diagram.grid.columns) for name in columns if name != ALL]
    labelled = [one.labelled(diagram.sweep.report.labels) for one in named]
    every = diagram.measured if ALL in columns else []
    return list(dict.fromkeys([diagram.quantity, *diagram.beside, *labelled, *every]))


def csv_text(table: pd.DataFrame) -> str:
    """Return a header and one line per row. Nulls and NaN are empty; text is quoted and never read as a formula."""
    table = table.rename(columns=spreadsheet_text)
    for name in table.select_dtypes(exclude="number"):
        table[name] = [spreadsheet_text(value) if isinstance(value, str) else value for value in table[name]]
    buffer = BytesIO()
    csv.write_csv(pa.Table.from_pandas(table, preserve_index=False), buffer)
    return buffer.getvalue().decode()


def as_latex(analyses: list[Analysis], columns: Sequence[str] = ()) -> str:
    """Return thresholds, claims and means, and with `columns` the cells, as tables of the LaTeX package booktabs."""
    from tabulate import tabulate  # imported here, because CSV and JSON do not need tabulate

    parts = []
    for analysis in analyses:
        diagram = analysis.diagram
        named = {
            "thresholds": pd.DataFrame(line_rows(analysis.lines)),
            "claims": pd.DataFrame([asdict(claim) for claim in analysis.claims]),
            **{mean_title(table): pd.DataFrame(mean_rows(table)) for table in claimed_tables(diagram)},
            "columns chosen": pd.DataFrame(chosen_rows(diagram)),
            "cells": cell_table(diagram, quantities(diagram, columns)) if columns else pd.DataFrame(),
        }
        for name, table in named.items():
            if len(table):
                rows = [[printable(shown(value)) for value in row] for row in table.itertuples(index=False, name=None)]
                numbers = [name != "claims" and all(map(_NUMBER.fullmatch, of)) for of in zip(*rows, strict=True)]
                align = ["right" if one else "left" for one in numbers]
                heads = [printable(str(head)) for head in table.columns]
                text = tabulate(rows, headers=heads, tablefmt="latex_booktabs", disable_numparse=True, colalign=align)
                parts.append(f"% {printable(f'{diagram.heading}: {name}')}\n\n{text}\n")
    text = "\n".join(parts).replace(" +- ", " ± ")
    return "".join(f"${LATEX[letter]}$" if letter in LATEX else letter for letter in text)


def shown(value: Any) -> str:
    """Return a value as text: floats with 4 digits, and nothing for nulls."""
    if value is None or value is pd.NA or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def as_json(analyses: list[Analysis]) -> str:
    """Return a list with one object per results folder: the value shown, totals, thresholds (pooled and per slice),
    claims, the content of `sweep.json`, and the grid cells as one list per column.

    A threshold has the keys estimate, low, high and level; other intervals have their name before `_low` and `_high`,
    as in `factor_low`.
    """
    return json.dumps([_document(analysis) for analysis in analyses], allow_nan=False, default=str) + "\n"


def _document(analysis: Analysis) -> dict[str, Any]:
    diagram, layout = analysis.diagram, analysis.diagram.layout
    return {
        "sweep": diagram.name,
        "title": diagram.title,
        "results": Path(diagram.grid.path).as_posix(),
        "value": str(diagram.quantity),
        "x": layout.x,
        "y": layout.y,
        "panels": list(layout.panels),
        "totals": diagram.totals,
        "thresholds": [_plain(one) for one in analysis.thresholds()],
        "claims": [asdict(claim) for claim in analysis.claims],
        "sweep_json": dict(diagram.grid.sweep),
        "cells": columns_of(cell_table(diagram, diagram.measured)),
    }


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as values that JSON can hold."""
    return [_plain(row) for row in table.to_dict("records")]


def columns_of(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return one list per column, of values that JSON can hold."""
    return {str(name): [_plain(value) for value in table[name]] for name in table}


def _plain(value: Any) -> Any:
    """Return a value, or those in a mapping, as JSON can hold it: NaN and NA become None, and infinities text."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    value = None if value is pd.NA else value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value


CHOSEN = "chosen"
"""Measured column with the chosen names, the most important first."""
MOST = 10


def mean_title(table: MeanTable) -> str:
    """Return a title that says what the table shows, and what its parentheses hold."""
    least, most, source = int(table.count.min()), int(table.count.max()), table.claim.source
    words = f"{table.claim.of.replace('_', ' ')}: mean and standard error of {least}"
    words += " trials" if least == most else f" to {most} trials"
    return f"{words} (stated{f' by {source}' if source else ''}, z-score; ! beyond {FAR:g})"


def mean_rows(table: MeanTable) -> list[dict[str, str]]:
    """Return one dictionary per row of the claimed table: the axis value, and a text for each of its numbers."""
    axis, across = (name.split(".")[-1] for name in (table.claim.axis, table.claim.across))
    return [
        {axis: name} | {f"{across} = {column}": _cell(table, i, j) for j, column in enumerate(table.columns)}
        for i, name in enumerate(table.claim.values)
    ]


def _cell(table: MeanTable, i: int, j: int) -> str:
    z, text = table.z[i, j], f"{table.mean[i, j]:.2f}" if table.count[i, j] else "-"
    if np.isfinite(table.error[i, j]):
        text += f" +- {table.error[i, j]:.2f}"
    score = f", {z:+.1f}{'!' if abs(z) > FAR else ''}" if np.isfinite(z) else ""
    return f"{text} ({table.stated[i, j]:g}{score})"


def chosen_rows(diagram: Diagram) -> list[dict[str, str]]:
    """Return one row per combination of the axes that vary: the names that trials have in the column `chosen` most
    often, with their numbers of trials.

    This is the form of Tables 7 and 8 of P3. There are no rows if nothing was chosen by name.
    """
    frame = diagram.frame
    if CHOSEN not in frame:
        return []
    frame = frame[finished(frame) & frame[CHOSEN].notna()]
    axes = [axis for axis in diagram.sweep.axes if frame[axis].nunique(dropna=False) > 1]
    lines = []
    for values in dict.fromkeys(diagram.sweep.combinations(axes)):
        here = rows_where(frame, dict(zip(axes, values, strict=True)))
        counts = Counter(name for names in frame[CHOSEN][here] for name in names.split(", ") if name)
        often = ", ".join(f"{name} ({count})" for name, count in counts.most_common(MOST))
        named = {axis.split(".")[-1]: str(value) for axis, value in zip(axes, values, strict=True)}
        lines.append({**named, "trials": str(here.sum()), "chosen most often": often or "none"})
    return lines if len(frame) else []
