"""Categorical columns: few distinct values, and for each row the code of its value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from recovery.types import Codes, Index

T = TypeVar("T")
U = TypeVar("U")

MOST_KEYS = 2**62
"""Largest number of combinations that an int64 can number."""


@dataclass(frozen=True, eq=False)
class CategoricalColumn(Generic[T]):
    """A column whose row i has the value `values[codes[i]]`. Some values may occur in no row."""

    values: Sequence[T]
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> T:
        return self.values[self.codes[row]]

    def __iter__(self) -> Iterator[T]:
        return map(self.values.__getitem__, self.codes.tolist())

    @cached_property
    def first(self) -> tuple[Index, Codes]:
        """The first row of each value that occurs, in the order of the rows; for each row, the number of its value."""
        return distinct([self])

    @property
    def distinct(self) -> list[T]:
        """The values that occur, in the order of the rows."""
        return [self.values[code] for code in self.codes[self.first[0]]]

    def map(self, function: Callable[[T], U]) -> CategoricalColumn[U]:
        """Return the column of `function(value)`, which is called once for each value that occurs."""
        first, number = self.first
        mapped = CategoricalColumn([function(self[row]) for row in first], number)
        vars(mapped)["first"] = self.first
        return mapped

    def take(self, rows: Index) -> CategoricalColumn[T]:
        """Return these rows, in this order."""
        if len(self.values) == 1:
            return constant(self.values[0], len(rows))
        return CategoricalColumn(self.values, self.codes[rows])

    def merged(self) -> CategoricalColumn[T]:
        """Return the same rows with each value stored once; values of different types, as 1 and true, stay apart."""
        numbers: dict[tuple[type, T], int] = {}
        code = np.array([numbers.setdefault((type(value), value), len(numbers)) for value in self.values], np.intp)
        if len(numbers) == len(self.values):
            return self
        values = [value for _, value in numbers]
        return constant(values[0], len(self)) if len(values) == 1 else CategoricalColumn(values, code[self.codes])


def constant(value: T, count: int) -> CategoricalColumn[T]:
    """Return a column of one value, whose codes take no memory."""
    return CategoricalColumn([value], np.broadcast_to(np.zeros((), np.int32), count))


def concatenated(columns: Iterable[CategoricalColumn[T]]) -> CategoricalColumn[T]:
    """Return the rows of several columns, one column after the other."""
    parts, values, codes = list(columns), list[T](), list[Codes]()
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        codes.append(part.codes + len(values))
        values += part.values
    return CategoricalColumn(values, np.concatenate(codes)).merged()


def distinct(columns: Sequence[CategoricalColumn[Any]]) -> tuple[Index, Codes]:
    """Return the first row of each combination of codes, in row order, and for each row its combination's number."""
    number, size = columns[0].codes, len(columns[0].values)
    for column in columns[1:]:
        if len(column.values) == 1:
            continue
        if size * len(column.values) > MOST_KEYS:
            unique, number = np.unique(number, return_inverse=True)
            size = len(unique)
        number, size = number.astype(np.int64) * len(column.values) + column.codes, size * len(column.values)
    if size == 1:
        return np.arange(min(len(number), 1)), number
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return first[order], rank[number]
