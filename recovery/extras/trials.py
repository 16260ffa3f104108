"""The stored rows that satisfy a condition."""

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
    """The rows of a grid for which the condition holds, and the columns that it names. Raises `StoreError`, and
    `ReportError` for what is none."""
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
    """Numbers and truth values as floats, NaN for null; text as it is, empty for null."""
    if is_number(column) or pd.api.types.is_bool_dtype(column.dtype):
        return as_numbers(column)
    return column.astype(object).where(column.notna(), "").map(str).to_numpy(dtype=object)


def table_of(rows: pd.DataFrame, results: Path, asked: Sequence[str] = ()) -> str:
    """Ids, the axes of the sweep, how each trial ended, and the columns that were asked for."""
    axes = from_document(read(results).sweep["config"]).axes
    wanted = dict.fromkeys(("trial_id", "replicate", *axes, *SHOWN, *asked))
    names = [name for name in wanted if name in rows and rows[name].notna().any()]
    plain = rows[names].astype(object).where(rows[names].notna(), "")
    return tabulate(plain.to_numpy().tolist(), headers=names, disable_numparse=True)


def written(rows: pd.DataFrame, out: Path) -> Path:
    """Write all columns. Raises `ReportError` for another ending, or where it cannot be written."""
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
    """Times as text, which have a zone that a spreadsheet has not, and text that begins no formula."""
    plain = rows.copy()
    for name, column in rows.items():
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            plain[name] = column.map(lambda time: time.isoformat(), na_action="ignore")
        elif not is_number(column) and not pd.api.types.is_bool_dtype(column.dtype):
            plain[name] = column.map(lambda text: spreadsheet_text(str(text)), na_action="ignore")
    return plain
