"""Encoding of a user's table, with text, missing values and identifiers, as a numeric matrix.

- A text column becomes one 0/1 column per category; categories beyond the `MOST_CATEGORIES` most frequent share one.
  Times, and dates in a CSV file written as 2024-01-31, become days.
- Missing text is a separate category. Missing numbers and infinities are replaced by the median, and a 0/1 column marks
  them. Rows without a target are left out.
- A target with two classes becomes 0 and 1.
- Constant columns, and columns that number or name the rows, are left out with a note or warning. Columns that are a
  multiple of the target stay, with a warning.

All columns made from one column of the table form a group, which is chosen or not as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from recovery.errors import DataError
from recovery.instances.frames import FORMATS, demand, read_frame, squarable
from recovery.text import many
from recovery.types import Array, Index

FEWEST_ROWS = 20
"""With fewer rows, predictions on held-out rows mean nothing."""
MOST_CATEGORIES = 20
"""Categories with their own column; rarer ones occur in too few rows to distinguish them from noise."""
DAY = 86_400
"""Seconds per day."""
DATE = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}.*)?"
MOST_CODES = 5
"""A target with at most this many different values, which are 0, 1, 2 or 1, 2, 3 and so on, may have classes."""
MOST_NAMED = 0.5
"""A text column in which more than this share of the entries are distinct is an identifier."""


@dataclass(frozen=True)
class Table:
    """An encoded table: X (n, p), y (n,), and groups (p,), the index in `names` of the source of each column of X.

    notes: descriptions of what was changed; warnings: what the user should check.
    """

    names: tuple[str, ...]
    X: Array
    y: Array
    groups: Index
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def read_table(path: Path, target: str, keep: Sequence[str] = (), drop: Sequence[str] = ()) -> Table:
    """Read a table from a CSV or Parquet file, and `encode` it. Raises `DataError`, also for another type of file."""
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"{path}: unknown file type {path.suffix!r}; write the table as {' or '.join(FORMATS)}")
    return encode(read_frame(path)[0], target, keep, drop, str(path))


def _typed(series: "pd.Series[Any]") -> "pd.Series[Any]":
    """Convert a column: dates and times in text to times, durations to days, decimals to floats, infinities to NaN."""
    if pd.api.types.is_float_dtype(series):
        return series.replace([np.inf, -np.inf], np.nan)
    if pd.api.types.is_timedelta64_dtype(series):
        return series.dt.total_seconds() / DAY
    if series.dtype != object and not pd.api.types.is_string_dtype(series):
        return series
    words = series.dropna()
    kinds = set(map(type, words))
    if kinds == {Decimal}:
        return series.map(float, na_action="ignore").astype(np.float64)
    if kinds == {date} or (kinds == {str} and words.str.fullmatch(DATE).all()):
        return pd.to_datetime(series, format="ISO8601", errors="coerce", utc=True)
    return series


def encode(
    frame: pd.DataFrame, target: str, keep: Sequence[str] = (), drop: Sequence[str] = (), source: str = "the table"
) -> Table:
    """Encode a table as numbers. keep: columns to keep although they look like identifiers; drop: columns to leave out.

    Raises `DataError` for unknown or repeated column names, a target that is constant or neither numeric nor of two
    classes, too few rows, and numbers whose squares overflow or underflow.
    """
    frame = frame.rename(columns=str)
    if not frame.columns.is_unique:
        raise DataError(f"{source} has two columns called {frame.columns[frame.columns.duplicated()][0]!r}")
    demand((target, *keep, *drop), list(frame.columns), source)
    frame = pd.DataFrame({name: _typed(frame[name]) for name in frame})
    notes, warnings = list[str](), list[str]()
    y = _target(frame[target], target, source, notes)
    present = np.isfinite(y)
    if not present.all():
        notes.append(f"{many((~present).sum(), 'row')} without {target!r} left out")
    useless = {name: reason for name in frame if (reason := _without_values(frame[name]))}
    named = {
        name: f"{reason}; --keep {name!r} keeps it"
        for name in frame
        if name not in (*keep, *useless) and (reason := _identifies(frame[name]))
    }
    frame, y = frame[present], y[present]
    if len(y) < FEWEST_ROWS:
        raise DataError(f"{source} has {many(len(y), 'row')} with a {target!r}; at least {FEWEST_ROWS} are needed")
    if np.ptp(y) == 0:
        raise DataError(f"{target!r} is {y[0]:g} in every row; the target must vary")
    columns: dict[str, list[Array]] = {}
    for name in frame.columns.drop([target, *drop], errors="ignore"):
        if reason := {**useless, **named}.get(name):
            warnings.append(f"{name!r} is left out: {reason}")
            continue
        one_value = frame[name].nunique(dropna=False) < 2
        values = [] if one_value else [squarable(column, name, source) for column in _encoded(frame[name], notes)]
        encoded = [column for column in values if np.ptp(column) > 0]
        if not encoded:
            notes.append(f"{name!r} is left out: it has one value")
            continue
        if len(encoded) == 1 and abs(np.corrcoef(encoded[0], y)[0, 1]) > 1 - 1e-12:
            warnings.append(f"{name!r} is the target in other units (correlation 1): --drop {name!r} leaves it out")
        columns[name] = encoded
    if not columns:
        raise DataError(f"{source} has no usable column besides {target!r}")
    groups = np.repeat(np.arange(len(columns)), [len(c) for c in columns.values()])
    X = np.column_stack([column for encoded in columns.values() for column in encoded])
    if copies := int(pd.DataFrame(X).assign(y=y).duplicated().sum()):
        notes.append(f"copies of other rows: {copies}; many copies make predictions of held-out rows look too good")
    return Table(tuple(columns), X, y, groups, tuple(notes), tuple(warnings))


def _target(series: "pd.Series[Any]", name: str, source: str, notes: list[str]) -> Array:
    """Return the target as numbers, two classes as 0 and 1, NaN where it is missing."""
    if series.isna().all():
        return np.full(len(series), np.nan)
    if not pd.api.types.is_numeric_dtype(series) or _without_values(series):
        return _classes(series, name, source, notes)
    values: Array = series.to_numpy(np.float64, na_value=np.nan)
    codes = np.unique(values[np.isfinite(values)])
    if 2 < len(codes) <= MOST_CODES and (np.diff(codes) == 1).all() and codes[0] in (0, 1):
        notes.append(
            f"{name!r} has the values {', '.join(f'{code:g}' for code in codes)}, which count as amounts; if they are "
            "classes, explain a column that is 1 for one of them"
        )
    return squarable(values, name, source)


def _classes(series: "pd.Series[Any]", name: str, source: str, notes: list[str]) -> Array:
    """Return a target with two classes as 0 and 1, NaN where it is missing; the second in alphabetical order is 1."""
    words = series.dropna()
    text = not _without_values(series) and not pd.api.types.is_datetime64_any_dtype(series)
    classes = sorted(words.astype(str).unique()) if text else []
    if len(classes) == 2:
        notes.append(f"{name!r} has two classes: {classes[1]!r} is 1, {classes[0]!r} is 0")
        return np.where(series.isna(), np.nan, (series.astype(str) == classes[1]).astype(np.float64))
    several = 2 < len(classes) <= MOST_CATEGORIES
    held = f"{len(classes)} classes: {', '.join(classes):.200}" if several else f"no numbers: {words.iloc[0]!s:.40}"
    raise DataError(
        f"{source}: the target {name!r} holds {held}; it must be a number or have two "
        "classes (of more, explain a column that is 1 for one of them)"
    )


def _without_values(series: "pd.Series[Any]") -> str | None:
    """Return the reason why a column does not have one real number, text or time per row, or None."""
    if pd.api.types.is_complex_dtype(series):
        return "it holds complex numbers"
    if series.dtype == object and series.map(pd.api.types.is_list_like).any():
        return "it holds lists or mappings, not one value per row"
    return None


def _identifies(series: "pd.Series[Any]") -> str | None:
    """Return the reason why a column looks like an identifier of the rows, or None."""
    if pd.api.types.is_integer_dtype(series):
        ordered = np.sort(series.dropna().to_numpy(np.int64 if series.dtype != np.uint64 else np.uint64))
        if len(ordered) > 1 and (np.diff(ordered) == 1).all():
            return f"it numbers the rows ({ordered[0]} to {ordered[-1]})"
    elif not (pd.api.types.is_numeric_dtype(series) or pd.api.types.is_datetime64_any_dtype(series)):
        distinct = series.nunique()
        if distinct > MOST_CATEGORIES and distinct > MOST_NAMED * series.notna().sum():
            return f"it names the rows ({distinct} different entries in {len(series)} rows)"
    return None


def _encoded(series: "pd.Series[Any]", notes: list[str]) -> Iterator[Array]:
    """Yield the numeric columns that encode one column, including constant ones."""
    if pd.api.types.is_datetime64_any_dtype(series):
        days = (series - series.min()).dt.total_seconds() / DAY
        notes.append(f"{series.name!r} is a time: days since its first entry")
        yield from _filled(days, notes)
    elif pd.api.types.is_numeric_dtype(series):
        yield from _filled(series, notes)
    else:
        yield from _categories(series, notes)


def _filled(series: "pd.Series[Any]", notes: list[str]) -> Iterator[Array]:
    """Yield a numeric column with gaps filled by the median, after a 0/1 column of its gaps if it has any."""
    values = series.to_numpy(np.float64, na_value=np.nan).copy()
    gaps = ~np.isfinite(values)
    if gaps.any():
        values[gaps] = np.median(values[~gaps])
        notes.append(f"{series.name!r} has {many(gaps.sum(), 'gap')}: filled with the median {values[gaps][0]:g}")
        yield gaps.astype(np.float64)
    yield values


def _categories(series: "pd.Series[Any]", notes: list[str]) -> Iterator[Array]:
    """Yield a 0/1 column per category, one of the rare categories, and one of the gaps."""
    words = series.astype(object).where(series.notna(), None).map(lambda word: None if word is None else str(word))
    gaps = words.isna()
    counts = words.value_counts()
    named = counts.index[:MOST_CATEGORIES]
    rest = len(counts) - len(named)
    notes.append(
        f"{series.name!r} is text: {len(counts)} categories"
        + (f", of which the {rest} rarest are one" if rest else "")
        + (f", and {many(gaps.sum(), 'gap')} as one more" if gaps.any() else "")
    )
    for word in named:
        yield np.asarray(words == word, np.float64)
    if rest:
        yield np.asarray(~words.isin(named) & ~gaps, np.float64)
    if gaps.any():
        yield np.asarray(gaps, np.float64)
