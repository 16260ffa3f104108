"""The user's own data matrix, from CSV, Parquet or .npy."""

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from recovery.errors import DataError, ParameterError
from recovery.types import Array, Rng

FORMATS = (".csv", ".parquet", ".npy")


def read_matrix(path: str | Path) -> Array:
    """Read a numeric matrix, shape (rows, columns), float64, every entry finite.

    CSV may have a header line; Parquet columns must all be numeric; .npy must hold a 2-D array (pickles are
    refused). Raises `DataError` for a missing or unreadable file, text, NaN or infinity, naming the place.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"{path}: unknown file type {path.suffix!r}; write the matrix as {', '.join(FORMATS)}")
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    names: list[str] | None = None
    try:
        if path.suffix.lower() == ".npy":
            values = np.load(path, allow_pickle=False)
        else:
            values, names = _read_table(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as {path.suffix[1:]}: {error}") from error
    if values.ndim != 2 or values.size == 0:
        raise DataError(f"{path}: needs a two-dimensional matrix, found shape {values.shape}")
    if values.dtype.kind not in "fiub":
        raise DataError(f"{path}: needs numbers, found entries of type {values.dtype}")
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        row, column = (int(i) for i in bad[0])
        name = f" ({names[column]})" if names else ""
        raise DataError(
            f"{path}: {len(bad)} entries are not finite, the first in row {row + 1}, column {column + 1}{name}; "
            "remove or impute them first"
        )
    return matrix


def _read_table(path: Path) -> tuple[Array, list[str]]:
    import pandas as pd  # heavy, and only file data need it

    if path.suffix.lower() == ".parquet":
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path)
        if _all_numbers(frame.columns):  # a file without a header: its first row is data
            frame = pd.read_csv(path, header=None)
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            found = next((v for v in frame[column] if not isinstance(v, int | float)), None)
            raise ValueError(f"column {column!r} holds text, e.g. {found!r}; only numeric columns are allowed")
    return frame.to_numpy(dtype=np.float64, na_value=np.nan), [str(c) for c in frame.columns]


def _all_numbers(names: object) -> bool:
    try:
        [float(name) for name in names]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        return False
    return True


@lru_cache(maxsize=4)
def _load(path: str, digest: str) -> Array:
    return read_matrix(path)


@dataclass(frozen=True)
class File:
    """Rows of a file's matrix: all of them in order when n is their number, otherwise n drawn at random.

    The first d columns are used. `digest` (SHA-256 of the file) is filled in, and part of a trial's identity:
    an edited file is other data.
    """

    path: str
    digest: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not Path(self.path).is_file():
            raise DataError(f"{self.path}: no such file")
        found = hashlib.sha256(Path(self.path).read_bytes()).hexdigest()
        if self.digest not in ("", found):
            raise DataError(f"{self.path}: the file changed: it is not the one with SHA-256 {self.digest[:12]}...")
        object.__setattr__(self, "digest", found)
        _load(self.path, found)

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = _load(self.path, self.digest).shape
        return rows, columns

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        matrix = _load(self.path, self.digest)
        rows, columns = matrix.shape
        if n > rows or d > columns:
            raise ParameterError(f"{self.path} has {rows} rows and {columns} columns; n={n}, d={d} asks for more")
        chosen = np.arange(rows) if n == rows else np.sort(rng.choice(rows, n, replace=False))
        return np.ascontiguousarray(matrix[chosen, :d])
