"""Stored rows that satisfy a condition, for `recover trials`: a table, or a CSV or Parquet file."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tabulate import tabulate

from recovery.config import Trials, from_document
from recovery.errors import ReportError
from recovery.expressions import Expression, ExpressionError, parse
from recovery.report.diagram import as_numbers, is_number
from recovery.report.formats import write
from recovery.report.texts import csv_text
from recovery.runner.loading import sweep_of
from recovery.runner.plan import plan
from recovery.store import read

MISSING = "missing"
"""Status of a planned trial without a row; a condition that names it is about these trials, too."""
SHOWN = ("status", "verdict", "recovered", "reason", "error_message")


def listed(results: Path, where: str | None, *, trust: bool = False) -> tuple[pd.DataFrame, Sequence[str]]:
    """Return the rows that satisfy a condition, and the columns that it names.

    Planned trials without a row are rows with the status `missing`, if the condition names that status; for a sweep
    with user code this needs `trust`. Raises `StoreError` if the folder cannot be read, `ConfigError` without trust,
    and `ReportError` for an invalid condition.
    """
    grid = read(results)
    frame = grid.frame
    if where is None:
        return frame, ()
    try:
        condition: Expression = parse(where, frame.columns, condition=True)
    except ExpressionError as error:
        raise ReportError(f"--where: {error}") from error
    if any(isinstance(node, ast.Constant) and node.value == MISSING for node in ast.walk(condition.node)):
        frame = with_missing(frame, plan(sweep_of(grid.sweep["config"], trust=trust), results).missing)
    try:
        kept = condition.holds({name: _column(frame[name]) for name in condition.names})
        return frame[np.broadcast_to(kept, len(frame))], condition.names
    except (ExpressionError, TypeError) as error:
        raise ReportError(f"--where: {error}") from error


def with_missing(frame: pd.DataFrame, missing: Trials) -> pd.DataFrame:
    """Append a row for each missing trial, with its coordinates and the status `missing`."""
    coordinates = {name: missing.coordinates(name) for name in missing.cells[0].coordinates}
    rows = pd.DataFrame({"trial_id": missing.ids, "replicate": missing.replicate, **coordinates, "status": MISSING})
    if not len(frame):
        return rows.reindex(columns=frame.columns)
    return pd.concat([frame, rows], ignore_index=True) if len(rows) else frame


def _column(column: "pd.Series[Any]") -> Any:
    """Return numbers and booleans as floats, NaN for null; otherwise text, empty for null."""
    if is_number(column) or pd.api.types.is_bool_dtype(column.dtype):
        return as_numbers(column)
    return column.astype(object).where(column.notna(), "").map(str).to_numpy(dtype=object)


def table_of(rows: pd.DataFrame, results: Path, requested: Sequence[str] = ()) -> str:
    """Return a text table of rows: ids, the axes of the sweep, outcomes, and the requested columns."""
    axes = from_document(read(results).sweep["config"]).axes
    wanted = dict.fromkeys(("trial_id", "replicate", *axes, *SHOWN, *requested))
    names = [name for name in wanted if name in rows and rows[name].notna().any()]
    plain = rows[names].astype(object).where(rows[names].notna(), "")
    return tabulate(plain.to_numpy().tolist(), headers=names, disable_numparse=True)


def written(rows: pd.DataFrame, out: Path) -> Path:
    """Write all columns of the rows; return the path. Raises `ReportError` for an unknown file type, or if it fails."""
    if out.suffix not in (".csv", ".parquet"):
        raise ReportError(f"{out}: no format ends in {out.suffix or 'nothing'}; allowed: .csv, .parquet")
    return write(out, csv_text(rows).encode() if out.suffix == ".csv" else rows.to_parquet(index=False))
