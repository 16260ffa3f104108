"""Data matrices and recorded labels from the user's CSV, Parquet or .npy files."""

import csv
import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from recovery.errors import DataError, ParameterError
from recovery.text import did_you_mean, printable
from recovery.types import Array, Mask, Rng

LARGEST = 1e100
"""Products of three numbers up to this do not overflow, and those of three reciprocals do not underflow."""
FEWEST_NUMBERED = 5
"""With fewer rows, a column may number them by chance."""


@dataclass(frozen=True)
class Table:
    """A matrix (rows, columns) with the names of its columns; a column without a name has its position, from 1."""

    X: Array
    names: tuple[str, ...]


def read_columns(path: str | Path) -> Table:
    """Read a numeric matrix, float64 and finite.

    CSV is UTF-8, may have a header line, and `,`, `;` or tabs between entries, with decimal commas next to `;`. Parquet
    columns must be numeric; .npy must contain a 2-D array (pickles are refused). Raises `DataError` for a missing or
    unreadable file; for two columns with the same name; for text, NaN or infinity, with their place; for non-zero
    numbers beyond 1e100 or below 1e-100; and for a first column without a name that numbers the rows.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in READERS:
        raise DataError(f"{path}: unknown file type {path.suffix!r}; write the matrix as {', '.join(READERS)}")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    try:
        values, header = READERS[kind](path)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read as {kind[1:]}: it is not UTF-8 text; save it as UTF-8") from error
    except (OSError, ValueError, NotImplementedError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as {kind[1:]}: {str(error).strip()}") from error
    if values.ndim != 2 or values.size == 0:
        raise DataError(f"{path}: needs a two-dimensional matrix, found shape {values.shape}")
    names = [printable(name).strip() or str(i) for i, name in enumerate(header or [""] * values.shape[1], start=1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"{path}: {names.count(twice[0])} columns are called {twice[0]!r}; give each its own name")
    matrix = np.column_stack([_numbers(column, name, path) for column, name in zip(values.T, names, strict=True)])
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        row, column = (int(i) for i in bad[0])
        name = f" ({names[column]})" if header else ""
        raise DataError(
            f"{path}: {len(bad)} entries are not finite, the first in row {row + 1}, column {column + 1}{name}; "
            "remove or impute them first"
        )
    for name, largest in zip(names, np.abs(matrix).max(axis=0), strict=True):
        if largest > 0 and not 1 / LARGEST < largest < LARGEST:
            raise DataError(f"{path}: the largest entry of {name!r} is {largest:.3g}; write it in other units")
    first = matrix[:, 0]
    counts = len(first) >= FEWEST_NUMBERED and first[0] in (0, 1) and bool((np.diff(first) == 1).all())
    if kind != ".npy" and names[0] == "1" and counts:
        raise DataError(
            f"{path}: its first column has no name and numbers the rows: an index that was saved with the data? Write "
            "the file without it"
        )
    return Table(np.ascontiguousarray(matrix), tuple(names))


def _numbers(column: Any, name: str, path: Path) -> Array:
    """Return a column as doubles, NaN for gaps. Raises `DataError` for text."""
    if column.dtype.kind in "fiub":
        return np.asarray(column, np.float64)
    values = [_number(entry) for entry in column]
    if None in values:
        text = column[values.index(None)]
        raise DataError(f"{path}: column {name!r} holds text, e.g. {text!r}; only numeric columns are allowed")
    return np.array(values, np.float64)


def _number(entry: Any) -> float | None:
    """Return an entry as a number, NaN for a gap, None for text."""
    try:
        return float("nan" if entry is None or entry == "" else entry)
    except (TypeError, ValueError):
        return None


def _read_array(path: Path) -> tuple[Any, list[str]]:
    values = np.load(path, allow_pickle=False)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"it needs numbers, found entries of type {values.dtype}")
    return values, []


def _read_parquet(path: Path) -> tuple[Any, list[str]]:
    import pandas as pd  # imported here, because pandas is slow to import and only Parquet needs it
    from pandas.api.types import is_numeric_dtype

    frame = pd.read_parquet(path)
    numbers = all(map(is_numeric_dtype, frame.dtypes))
    values = frame.to_numpy(np.float64, na_value=np.nan) if numbers else frame.to_numpy(object)
    return values, list(map(str, frame.columns))


def _read_csv(path: Path) -> tuple[Any, list[str]]:
    """Read the entries of a CSV file as text, and its header: the first line, if one of its entries is no number or its
    first entry is empty, as above an index.
    """
    text = path.read_text(encoding="utf-8-sig")
    sep = next((mark for mark in (";", "\t") if mark in text.partition("\n")[0]), ",")
    rows = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=sep, strict=True) if row]
    if not rows:
        raise ValueError("it is empty")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise ValueError(f"line {number} has {len(row)} entries, and line 1 has {len(rows[0])}")
    decimal = "," if sep == ";" else "."
    entries = np.array([[entry.strip().replace(decimal, ".") for entry in row] for row in rows], dtype=object)
    if entries[0, 0] and None not in map(_number, entries[0]):
        return entries, []
    return entries[1:], rows[0]


READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".npy": _read_array}
"""Suffix of a file -> the function that reads its entries and its header, which is empty where it has none."""


@lru_cache(maxsize=4)
def _load(path: str, digest: str) -> Table:
    if digest_of(path) != digest:
        raise DataError(f"{path}: the file changed: it is not the one with SHA-256 {digest[:12]}...")
    return read_columns(path)


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file. Raises `DataError` if there is none."""
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file")
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@dataclass(frozen=True)
class File:
    """Rows of the matrix in a file: all of them in order if n is their number, otherwise n drawn at random.

    The first d columns are used. `digest` (SHA-256 of the file) is filled in and belongs to a trial's identity, so an
    edited file counts as other data. A given digest is compared when the file is read.
    """

    path: str
    digest: str = field(default="", kw_only=True, metadata={"filled": True})

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", digest_of(self.path))
            _load(self.path, self.digest)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.columns.X.shape
        return rows, columns

    @property
    def columns(self) -> Table:
        """The whole matrix, with the names of its columns."""
        return _load(self.path, self.digest)

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        matrix = self.columns.X
        rows, columns = matrix.shape
        if n > rows or d > columns:
            raise ParameterError(f"{self.path} has {rows} rows and {columns} columns; n={n}, d={d} asks for more")
        chosen = np.arange(rows) if n == rows else np.sort(rng.choice(rows, n, replace=False))
        return np.ascontiguousarray(matrix[chosen, :d])


@dataclass(frozen=True)
class Recorded:
    """The drawn rows X (n, d) with labels y (n,), and the file's `others` with `others_y`, in random order."""

    form: ClassVar[Literal["other"]] = "other"
    redraws: ClassVar[int] = 0

    X: Array
    y: Array
    others: Array
    others_y: Array

    @property
    def hyperplanes(self) -> Array:
        return np.empty((self.X.shape[1], 0))

    def labels(self, X: Array) -> Array:
        """Return the labels of the drawn rows, or of the first of the others. Raises `DataError` for any other rows."""
        for rows, labels in ((self.X, self.y), (self.others, self.others_y)):
            if np.array_equal(X, rows[: len(X)]):
                return labels[: len(X)]
        raise DataError("labels are known only for the rows of the file")


@dataclass(frozen=True)
class FileColumn:
    """Labels from the column `name` of `data: {ensemble: file}`; X has the first d of the other columns.

    n rows are drawn at random, and the others are for tests. relevant: columns that are known to matter, if any.
    """

    form: ClassVar[Literal["other"]] = "other"
    neurons: ClassVar[int | None] = None
    slope: ClassVar[float] = 0.0

    name: str
    relevant: tuple[str, ...] = ()

    def inputs(self, ensemble: object, d: int) -> tuple[str, ...]:
        """Return the names of X's columns. Raises `ParameterError` without a file, or if it lacks a column."""
        if not isinstance(ensemble, File):
            raise ParameterError("labels that are a column need data: {ensemble: file, path: ...}")
        names = ensemble.columns.names
        if self.name not in names:
            raise ParameterError(f"{ensemble.path} has no column {self.name!r}{did_you_mean(self.name, names)}")
        others = tuple(name for name in names if name != self.name)
        if d > len(others):
            raise ParameterError(f"d = {d}, and {ensemble.path} has {len(others)} columns beside {self.name!r}")
        missing = [name for name in self.relevant if name not in others[:d]]
        if missing:
            raise ParameterError(f"relevant: {missing[0]!r} is none of the first {d} columns beside {self.name!r}")
        return others[:d]

    def support(self, names: tuple[str, ...]) -> Mask | None:
        """Return which of these columns are known to matter, (d,); None if unknown."""
        return np.isin(names, self.relevant) if self.relevant else None

    def draw(self, rng: Rng, X: Array) -> Recorded:
        """Raise `ParameterError`: labels are drawn together with rows, by `take`."""
        raise ParameterError("the labels of a file are drawn together with its rows")

    def take(self, rng: Rng, ensemble: object, n: int, d: int) -> Recorded:
        """Draw n rows of the file with labels, and keep the others. Raises `ParameterError` if the file has too few."""
        names = self.inputs(ensemble, d)
        assert isinstance(ensemble, File)
        table = ensemble.columns
        if n > len(table.X):
            raise ParameterError(f"{ensemble.path} has {len(table.X)} rows; n = {n} asks for more")
        y, X = table.X[:, table.names.index(self.name)], table.X[:, [table.names.index(name) for name in names]]
        order = rng.permutation(len(X))
        kept, left = np.sort(order[:n]), order[n:]
        return Recorded(X[kept], y[kept], X[left], y[left])
