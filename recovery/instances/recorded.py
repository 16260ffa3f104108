"""Labels that were recorded, not planted: a column of the user's file."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from recovery.errors import DataError, ParameterError
from recovery.instances.files import File
from recovery.text import did_you_mean
from recovery.types import Array, Mask, Rng


@dataclass(frozen=True)
class Recorded:
    """The labels y (n,) of the rows X (n, d) that were drawn, and those of the other rows of the file, at random order.

    Nobody knows the labels of any other row.
    """

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
        """Of the drawn rows, or of the first of the others. Raises `DataError` for any other rows."""
        for rows, labels in ((self.X, self.y), (self.others, self.others_y)):
            if np.array_equal(X, rows[: len(X)]):
                return labels[: len(X)]
        raise DataError("labels are known only for the rows of the file")


@dataclass(frozen=True)
class FileColumn:
    """The labels are the column `name` of `data: {ensemble: file}`, and X has the first d of its other columns.

    n rows are drawn at random; the others test. relevant: columns that are known to matter, where that is known.
    """

    form: ClassVar[Literal["other"]] = "other"
    neurons: ClassVar[int | None] = None
    slope: ClassVar[float] = 0.0

    name: str
    relevant: tuple[str, ...] = ()

    def inputs(self, ensemble: object, d: int) -> tuple[str, ...]:
        """The names of X's columns. Raises `ParameterError` without a file, or where it lacks a column."""
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
        """Which of these columns are known to matter, shape (d,); None where it is not known."""
        return np.isin(names, self.relevant) if self.relevant else None

    def draw(self, rng: Rng, X: Array) -> Recorded:
        """Never called: its labels come with the rows, from `take`."""
        raise ParameterError("the labels of a file are drawn together with its rows")

    def take(self, rng: Rng, ensemble: object, n: int, d: int) -> Recorded:
        """n rows of the file with their labels, and the others. Raises `ParameterError` for a file without them."""
        names = self.inputs(ensemble, d)
        assert isinstance(ensemble, File)
        table = ensemble.columns
        if n > len(table.X):
            raise ParameterError(f"{ensemble.path} has {len(table.X)} rows; n = {n} asks for more")
        y, X = table.X[:, table.names.index(self.name)], table.X[:, [table.names.index(name) for name in names]]
        order = rng.permutation(len(X))
        kept, left = np.sort(order[:n]), order[n:]
        return Recorded(X[kept], y[kept], X[left], y[left])
