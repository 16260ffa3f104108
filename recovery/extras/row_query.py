"""Stored rows that satisfy a condition, for `recover trials`: a table, or a CSV or Parquet file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tabulate import tabulate

from recovery.config import from_document
from recovery.errors import ReportError
from recovery.expressions import Expression, ExpressionError, parse
from recovery.report.diagram import as_numbers, is_number
from recovery.report.formats import write
from recovery.report.texts import csv_text
from recovery.store import read
from recovery.text import printable

SHOWN = ("status", "verdict", "recovered", "reason", "error_message")


def listed(results: Path, where: str | None) -> tuple[pd.DataFrame, Sequence[str]]:
    """Return the rows that satisfy a condition, and the names in it.

    Raises `StoreError` if the folder cannot be read, and `ReportError` for an invalid condition.
    """
    frame = read(results).frame
    if where is None:
        return frame, ()
    try:
        condition: Expression = parse(where, frame.columns, condition=True)
        kept = condition.holds({name: _column(frame[name]) for name in condition.names})
        return frame[np.broadcast_to(kept, len(frame))], condition.names
    except (ExpressionError, TypeError) as error:
        raise ReportError(f"--where: {error}") from error


def _column(column: "pd.Series[Any]") -> Any:
    """Return numbers and booleans as floats, NaN for null; otherwise text, empty for null."""
    if is_number(column):
        return as_numbers(column)
    return column.astype(object).where(column.notna(), "").map(str).to_numpy(dtype=object)


def table_of(rows: pd.DataFrame, results: Path, requested: Sequence[str] = ()) -> str:
    """Return a text table of rows: ids, the axes of the sweep, outcomes, and the requested columns."""
    axes = from_document(read(results).sweep["config"]).axes
    wanted = dict.fromkeys(("trial_id", "replicate", *axes, *SHOWN, *requested))
    names = [name for name in wanted if name in rows and rows[name].notna().any()]
    plain = rows[names].astype(object).where(rows[names].notna(), "")
    lines = [[printable(str(value)) for value in row] for row in plain.to_numpy().tolist()]
    return tabulate(lines, headers=names, disable_numparse=True)


def written(rows: pd.DataFrame, out: Path) -> Path:
    """Write all columns of the rows; return the path. Raises `ReportError` for an unknown file type, or if it fails."""
    if out.suffix not in (".csv", ".parquet"):
        raise ReportError(f"{out}: no format ends in {out.suffix or 'nothing'}; allowed: .csv, .parquet")
    return write(out, csv_text(rows).encode() if out.suffix == ".csv" else rows.to_parquet(index=False))
