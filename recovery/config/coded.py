"""Columns that hold few distinct values many times: the values, and for each row the number of its own."""

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
"""Beyond, the number of a combination does not fit into an integer."""


@dataclass(frozen=True, eq=False)
class Coded(Generic[T]):
    """`values[codes[i]]` is what row i has; some of the values may be no row's."""

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
        """The first row of each value that some row has, in the order of the rows; for each row, which value it has."""
        return distinct([self])

    @property
    def distinct(self) -> list[T]:
        """The values that some row has, in the order of the rows."""
        return [self.values[code] for code in self.codes[self.first[0]]]

    def map(self, function: Callable[[T], U]) -> Coded[U]:
        """A function of each value that some row has."""
        first, number = self.first
        mapped = Coded([function(self[row]) for row in first], number)
        vars(mapped)["first"] = self.first
        return mapped

    def take(self, rows: Index) -> Coded[T]:
        return constant(self.values[0], len(rows)) if len(self.values) == 1 else Coded(self.values, self.codes[rows])

    def merged(self) -> Coded[T]:
        """Equal values of one type as one."""
        numbers: dict[tuple[type, T], int] = {}
        code = np.array([numbers.setdefault((type(value), value), len(numbers)) for value in self.values], np.intp)
        if len(numbers) == len(self.values):
            return self
        values = [value for _, value in numbers]
        return constant(values[0], len(self)) if len(values) == 1 else Coded(values, code[self.codes])


def constant(value: T, count: int) -> Coded[T]:
    """A column of one value, in no memory."""
    return Coded([value], np.broadcast_to(np.zeros((), np.int32), count))


def joined(columns: Iterable[Coded[T]]) -> Coded[T]:
    """The rows of several columns below one another."""
    parts, values, codes = list(columns), list[T](), list[Codes]()
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        codes.append(part.codes + len(values))
        values += part.values
    return Coded(values, np.concatenate(codes)).merged()


def numbered(columns: Sequence[Coded[Any]]) -> Coded[int]:
    """A number for each row, the same where all columns have the same codes."""
    number, size = columns[0].codes, len(columns[0].values)
    for column in columns[1:]:
        if len(column.values) == 1:
            continue
        if size == 1:
            number, size = column.codes, len(column.values)
            continue
        if size * len(column.values) > MOST_KEYS:
            unique, number = np.unique(number, return_inverse=True)
            size = len(unique)
        number, size = number.astype(np.int64) * len(column.values) + column.codes, size * len(column.values)
    return Coded(range(size), number)


def distinct(columns: Sequence[Coded[Any]]) -> tuple[Index, Codes]:
    """The first row of each combination of codes, in the order of the rows; for each row, which combination it has."""
    keys = numbered(columns)
    rows, number, most = len(keys), keys.codes, len(keys.values)
    if most == 1:
        return np.arange(min(rows, 1)), number
    if most > 4 * rows + 1000:
        _, first, number = np.unique(number, return_index=True, return_inverse=True)
        most = len(first)
    else:
        first = np.full(most, rows)
        first[number[::-1]] = np.arange(rows - 1, -1, -1)
    there = int(np.count_nonzero(first < rows))
    if there == most and (np.diff(first) > 0).all():
        return first, number
    order = np.argsort(first, kind="stable")[:there]
    rank = np.empty(most, np.int32)
    rank[order] = np.arange(there, dtype=np.int32)
    return first[order], rank[number]
