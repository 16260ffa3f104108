"""Read the user's tables from CSV or Parquet."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recovery.errors import DataError
from recovery.text import printable
from recovery.types import Array

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".csv", ".parquet")
LARGEST = 1e100
"""Larger numbers overflow when squared, and their reciprocals underflow."""
PEEK = 2**16
"""Number of characters of a CSV file from which its format is detected."""
DECIMAL_COMMA = re.compile(r'(?:^|;)"?[-+]?\d*,\d+(?:[eE][-+]?\d+)?"?(?=;|$)', re.MULTILINE)
"""Matches an entry that is a number with a decimal comma."""


def read_frame(path: Path) -> tuple["pd.DataFrame", bool]:
    """Read a table with unique column names; also returns whether the file names its columns.

    A column without a name is named after its position, from 1. CSV is UTF-8, with or without a header line, with `,`,
    `;` or tabs between entries, and with decimal commas next to `;`. Raises `DataError` for a file that cannot be read,
    and for two columns with the same name.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    kind = path.suffix.lower().removeprefix(".")
    try:
        frame, names, named = _read_parquet(path) if kind == "parquet" else _read_csv(path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read as {kind}: it is not UTF-8 text; save it as UTF-8") from error
    except (OSError, ValueError, NotImplementedError) as error:
        said = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{path}: cannot be read as {kind}: {said}") from error
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path}: {names.count(twice[0])} columns are called {twice[0]!r}; give each its own name")
    frame.columns = names
    return frame, named


def squarable(values: Array, name: str, source: str | Path) -> Array:
    """Return the values of a column. Raises `DataError` if the largest is too large or too small to be squared."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    if largest > 0 and not 1 / LARGEST < largest < LARGEST:
        raise DataError(f"{source}: the largest entry of {name!r} is {largest:.3g}; write it in other units")
    return values


def _read_parquet(path: Path) -> tuple["pd.DataFrame", list[str], bool]:
    import pandas as pd  # imported here, because pandas is slow to import and only file data need it

    frame = pd.read_parquet(path)
    return frame, _names(frame.columns), True


def _read_csv(path: Path) -> tuple["pd.DataFrame", list[str], bool]:
    import pandas as pd  # imported here, because pandas is slow to import and only file data need it

    style = _style(path)
    # read the first row as text without a header, because pandas renames the second of two columns with the same name
    head = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **style).iloc[0]
    named = not _are_data(list(head), style["decimal"])
    frame = pd.read_csv(path, header=0 if named else None, **style)
    if not isinstance(frame.index, pd.RangeIndex):
        raise ValueError("its rows have more entries than its header; name every column, also one of row names")
    return frame, _names(head if named else [""] * len(head)), named


def _names(names: Any) -> list[str]:
    words = ("" if str(name).startswith("Unnamed: ") else printable(str(name)).strip() for name in names)
    return [word or str(i) for i, word in enumerate(words, start=1)]


def _style(path: Path) -> dict[str, Any]:
    """Detect the separator and the decimal mark of a CSV file."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = file.read(PEEK)
    first = head.partition("\n")[0]
    sep = next((mark for mark in (";", "\t") if mark in first), ",")
    return {"sep": sep, "decimal": "," if sep == ";" and DECIMAL_COMMA.search(head) else "."}


def _are_data(first: Sequence[str], decimal: str) -> bool:
    """Return whether the first row is data: numbers and gaps. A header may begin with a gap, above an index."""
    try:
        [float(entry.replace(decimal, ".")) for i, entry in enumerate(first) if entry or i == 0]
    except ValueError:
        return False
    return True
