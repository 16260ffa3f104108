"""The user's own table, with text, gaps and identifiers, as numbers: which columns become what, and what is left out.

- A column of two or more kinds of text becomes one 0/1 column a category; beyond the `MOST_CATEGORIES` most frequent,
  the others share one. Times become days, and so do dates in a CSV file, written as in 2024-01-31.
- A gap in a text column is a category of its own. A gap in a numeric column is filled with the median, and a 0/1 column
  beside it says where; infinities count as gaps. Rows without a target are left out.
- Constant columns, columns that number or name the rows, and copies of the target are left out, and said.

All columns that come from one column of the table belong to it: it is chosen, or not, as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recovery.errors import DataError
from recovery.types import Array, Index

FORMATS = (".csv", ".parquet")
FEWEST_ROWS = 20
"""Below this no split of the rows says anything."""
MOST_CATEGORIES = 20
DATE = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?"
MOST_NAMED = 0.5
"""Text in which more than this share of the entries differ names the rows."""


@dataclass(frozen=True)
class Table:
    """X (n, p), y (n,), and to which of `names` each column of X belongs: groups (p,). notes: what was done, in words.

    warnings: what the user should look at.
    """

    names: tuple[str, ...]
    X: Array
    y: Array
    groups: Index
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def read_table(path: Path, target: str, keep: Sequence[str] = (), drop: Sequence[str] = ()) -> Table:
    """Read and encode a CSV or Parquet file. Raises `DataError` that says what was found and what is allowed."""
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"{path}: unknown file type {path.suffix!r}; write the table as {' or '.join(FORMATS)}")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        frame = pd.read_parquet(path) if path.suffix.lower() == ".parquet" else _dated(pd.read_csv(path))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error
    return encode(frame, target, keep, drop, str(path))


def _dated(frame: pd.DataFrame) -> pd.DataFrame:
    """The table of a CSV file with its columns of ISO dates as times: CSV has no type for them."""
    for name in frame.columns:
        words = frame[name].dropna()
        if not pd.api.types.is_numeric_dtype(words) and words.astype(str).str.fullmatch(DATE).all():
            frame[name] = pd.to_datetime(frame[name], format="ISO8601", errors="coerce", utc=True)
    return frame


def encode(
    frame: pd.DataFrame, target: str, keep: Sequence[str] = (), drop: Sequence[str] = (), source: str = "the table"
) -> Table:
    """The table as numbers. keep: columns that stay though they look like identifiers. drop: columns left out.

    Raises `DataError` for an unknown column, a target that is not a number or does not vary, and too few rows.
    """
    frame = frame.rename(columns=str).replace([np.inf, -np.inf], np.nan)
    for name in (target, *keep, *drop):
        if name not in frame:
            raise DataError(f"{source} has no column {name!r}; it has {', '.join(map(repr, frame.columns))}")
    y = _target(frame[target], target, source)
    there = np.isfinite(y)
    notes, warnings = [], list[str]()
    if not there.all():
        notes.append(f"{int((~there).sum())} rows have no {target!r} and are left out")
    named = {name: reason for name in frame if name not in keep and (reason := _identifies(frame[name]))}
    frame, y = frame[there], y[there]
    if len(y) < FEWEST_ROWS:
        raise DataError(f"{source} has {len(y)} rows with a {target!r}; at least {FEWEST_ROWS} are needed")
    if np.ptp(y) == 0:
        raise DataError(f"{target!r} is {y[0]:g} in every row: nothing can explain what does not vary")
    columns: dict[str, list[Array]] = {}
    for name in frame.columns.drop([target, *drop], errors="ignore"):
        if name in named:
            warnings.append(f"{name!r} is left out: {named[name]}; --keep {name!r} keeps it")
            continue
        if frame[name].nunique(dropna=False) < 2:
            notes.append(f"{name!r} is left out: it has one value")
            continue
        encoded = [column for column in _encoded(frame[name], notes) if np.ptp(column) > 0]
        if len(encoded) == 1 and abs(np.corrcoef(encoded[0], y)[0, 1]) > 1 - 1e-12:
            warnings.append(f"{name!r} is the target in other units (correlation 1): --drop {name!r} leaves it out")
        columns[name] = encoded
    if not columns:
        raise DataError(f"{source} has no column beside {target!r} that could explain it")
    groups = np.repeat(np.arange(len(columns)), [len(c) for c in columns.values()])
    X = np.column_stack([column for encoded in columns.values() for column in encoded])
    return Table(tuple(columns), X, y, groups, tuple(notes), tuple(warnings))


def _target(series: "pd.Series[Any]", name: str, source: str) -> Array:
    if not pd.api.types.is_numeric_dtype(series):
        example = series.dropna().iloc[0] if series.notna().any() else None
        raise DataError(
            f"{source}: the target {name!r} holds text, e.g. {example!r}; it must be a number "
            "(write two classes as 0 and 1)"
        )
    values: Array = series.to_numpy(np.float64, na_value=np.nan)
    return values


def _identifies(series: "pd.Series[Any]") -> str | None:
    """Why a column seems to number or name the rows, or None."""
    if pd.api.types.is_integer_dtype(series):
        ordered = np.sort(series.to_numpy())
        if len(ordered) > 1 and (np.diff(ordered) == 1).all():
            return f"it numbers the rows ({ordered[0]} to {ordered[-1]})"
    elif not (pd.api.types.is_numeric_dtype(series) or pd.api.types.is_datetime64_any_dtype(series)):
        distinct = series.nunique()
        if distinct > MOST_CATEGORIES and distinct > MOST_NAMED * series.notna().sum():
            return f"it names the rows ({distinct} different entries in {len(series)} rows)"
    return None


def _encoded(series: "pd.Series[Any]", notes: list[str]) -> Iterator[Array]:
    """The numeric columns that one column becomes; constant ones included."""
    if pd.api.types.is_datetime64_any_dtype(series):
        days = (series - series.min()).dt.total_seconds() / 86_400
        notes.append(f"{series.name!r} is a time: days since its first entry")
        yield from _filled(days, notes)
    elif pd.api.types.is_numeric_dtype(series):
        yield from _filled(series, notes)
    else:
        yield from _categories(series, notes)


def _filled(series: "pd.Series[Any]", notes: list[str]) -> Iterator[Array]:
    values = series.to_numpy(np.float64, na_value=np.nan).copy()
    gaps = ~np.isfinite(values)
    if gaps.any():
        values[gaps] = np.median(values[~gaps])
        notes.append(f"{series.name!r} has {int(gaps.sum())} gaps: filled with the median {values[gaps][0]:g}")
        yield gaps.astype(np.float64)
    yield values


def _categories(series: "pd.Series[Any]", notes: list[str]) -> Iterator[Array]:
    words = series.astype(object).where(series.notna(), None).map(lambda word: None if word is None else str(word))
    gaps = words.isna()
    counts = words.value_counts()
    named = counts.index[:MOST_CATEGORIES] if len(counts) > MOST_CATEGORIES else counts.index
    rest = len(counts) - len(named)
    notes.append(
        f"{series.name!r} is text: {len(counts)} categories"
        + (f", of which the {rest} rarest are one" if rest else "")
        + (f", and {int(gaps.sum())} gaps as one more" if gaps.any() else "")
    )
    for word in named:
        yield np.asarray(words == word, np.float64)
    if rest:
        yield np.asarray(~words.isin(named) & ~gaps, np.float64)
    if gaps.any():
        yield np.asarray(gaps, np.float64)
