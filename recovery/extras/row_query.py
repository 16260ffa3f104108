"""Stored rows that satisfy a condition, for `recover trials`: as a table, or as a CSV, Parquet or Excel file."""

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
from recovery.store import read
from recovery.text import spreadsheet_text

SHOWN = ("status", "verdict", "recovered", "reason", "error_message")


def listed(results: Path, where: str | None) -> tuple[pd.DataFrame, Sequence[str]]:
    """Return the rows that satisfy a condition, and the columns that it names.

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
    """Write all columns of the rows. Raises `ReportError` for an unknown file type, or if writing fails."""
    try:
        if out.suffix == ".csv":
            _as_text(rows).to_csv(out, index=False)
        elif out.suffix == ".parquet":
            rows.to_parquet(out, index=False)
        elif out.suffix == ".xlsx":
            _as_text(rows).to_excel(out, index=False)
        else:
            raise ReportError(f"{out}: no format ends in {out.suffix or 'nothing'}; allowed: .csv, .parquet, .xlsx")
    except ImportError as error:
        raise ReportError(f"{out}: .xlsx needs the package openpyxl: pip install openpyxl") from error
    except OSError as error:
        raise ReportError(f"cannot write {out}: {error.strerror or error}") from error
    return out


def _as_text(rows: pd.DataFrame) -> pd.DataFrame:
    """Convert times to text, because spreadsheets have no time zones, and text to text that is not a formula."""
    plain = rows.copy()
    for name, column in rows.items():
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            plain[name] = column.map(lambda time: time.isoformat(), na_action="ignore")
        elif not is_number(column) and not pd.api.types.is_bool_dtype(column.dtype):
            plain[name] = column.map(lambda text: spreadsheet_text(str(text)), na_action="ignore")
    return plain
