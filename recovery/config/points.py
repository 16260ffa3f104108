"""The points of a block of axes: every combination of their values, with expressions worked out and filters applied."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor, prod
from typing import Any

import numpy as np

from recovery.config.coded import Coded, constant, distinct
from recovery.config.problems import Path, as_shown
from recovery.config.values import same_as
from recovery.errors import RecoverError
from recovery.expressions import Expression, ExpressionError
from recovery.types import Index, Mask

BROKEN = object()
"""The value of an axis that has an error of its own: nothing is said about the cells that it would have made."""


@dataclass(frozen=True, eq=False)
class AxisValue:
    """One value of an axis; `source` is its path in the document, `key` that of the axis."""

    value: Any
    source: Path
    key: Path


UNKNOWN = AxisValue(None, (), ())
"""In the place of a value that an expression will give."""


class Unworkable(RecoverError):  # noqa: N818  (it becomes a problem at `source`)
    """An expression without a value at some point."""

    def __init__(self, source: Path, text: str) -> None:
        self.source, self.text = source, text
        super().__init__(text)


Point = tuple[AxisValue, ...]
Agreement = tuple[tuple[int, frozenset[object]], ...]
"""Position of a path in a point -> keys (`same_as`) of the values that agree."""


Inputs = tuple[tuple[str, int | None, int | float], ...]
"""Name in an expression -> the position of its axis in a point, or else a number."""


@dataclass(frozen=True, eq=False)
class Computed:
    """An axis whose values an expression gives: of a path beside those of the dimensions, or of one whose own values
    are factors in it.

    whole: it is a size, rounded to the nearest integer, halves up; what is positive is at least 1.
    """

    position: int
    expression: Expression
    inputs: Inputs
    source: Path
    key: Path
    whole: bool

    def value(self, numbers: dict[str, int | float]) -> int | float:
        """Raises `ExpressionError` where there is none."""
        if not self.whole:
            return self.expression.number(numbers)
        exact = self.expression.fraction(numbers)
        return max(floor(exact + Fraction(1, 2)), int(exact > 0))


@dataclass(frozen=True, eq=False)
class Block:
    """`dimensions`: for each independent axis the rows of values of its paths. `paths` names a row's concatenation, and
    then the axes that are computed. `computed` stand in an order in which each uses earlier ones only.

    A point is one row of each dimension, the first changing slowest; a path depends on few of them.
    """

    paths: tuple[str, ...]
    dimensions: tuple[tuple[Point, ...], ...]
    computed: tuple[Computed, ...] = ()
    include: tuple[Agreement, ...] = ()
    exclude: tuple[Agreement, ...] = ()
    faults: list[Unworkable] = field(default_factory=list)
    """Expressions without a value, once `columns` is asked for: a point where there is none is BROKEN there."""

    @cached_property
    def columns(self) -> dict[str, Coded[AxisValue]]:
        """The values of each path at every point that is kept."""
        return {path: self._spread(one) for path, one in self._whole.items()}

    @cached_property
    def count(self) -> int:
        """How many points there are."""
        return len(self._kept)

    def point(self, row: int) -> Point:
        return tuple(column[row] for column in self.columns.values())

    @cached_property
    def _whole(self) -> dict[str, Coded[AxisValue]]:
        """As `columns`, at all combinations: codes have the shape of the dimensions, with 1 where nothing changes."""
        shape = tuple(len(rows) for rows in self.dimensions)
        columns: list[Coded[AxisValue] | None] = []
        for i, rows in enumerate(self.dimensions):
            along = np.arange(len(rows), dtype=np.int32).reshape([-1 if k == i else 1 for k in range(len(shape))])
            columns += [Coded(values, along) for values in zip(*rows, strict=True)]
        columns += [None] * (len(self.paths) - len(columns))
        for one in self.computed:
            columns[one.position] = self._computed(one, columns)
        unknown = Coded(
            [AxisValue(BROKEN, (), ())], np.zeros((), np.intp)
        )  # of a circle, which is a problem of its own
        return {path: unknown if one is None else one for path, one in zip(self.paths, columns, strict=True)}

    def _computed(self, one: Computed, columns: Sequence[Coded[AxisValue] | None]) -> Coded[AxisValue]:
        """The values that an expression gives, one for each combination of those that it is computed from."""
        inputs = [columns[at] for _, at, _ in one.inputs if at is not None]
        spread = np.broadcast_arrays(*(column.codes for column in inputs if column is not None), np.zeros((), np.intp))
        flat = [Coded(column.values, codes.ravel()) for column, codes in zip(inputs, spread, strict=False) if column]
        before = columns[one.position]  # its factor, which is one of the inputs
        first, number = distinct(flat) if flat else (np.zeros(1, np.intp), np.zeros(1, np.intp))
        values, known = list[AxisValue](), dict[tuple[type, object, Path], AxisValue]()
        for row in first:
            at = iter(flat)
            numbers = tuple(given if place is None else next(at)[row].value for _, place, given in one.inputs)
            try:
                value = _worked_out(one, numbers, UNKNOWN if before is None else flat[0][row])
            except Unworkable as error:
                self.faults.append(error)
                value = AxisValue(BROKEN, error.source, one.key)
            values.append(known.setdefault((type(value.value), value.value, value.source), value))
        return Coded(values, number.reshape(spread[-1].shape)).merged()

    @cached_property
    def _kept(self) -> Index:
        """The numbers of the combinations that no filter takes away."""
        shape = tuple(len(rows) for rows in self.dimensions)
        if not (self.include or self.exclude):
            return np.arange(prod(shape))
        kept = np.broadcast_to(not self.include, shape).copy()
        for condition in self.include:
            kept |= self._agrees(condition)
        for condition in self.exclude:
            kept &= ~self._agrees(condition)
        return np.flatnonzero(kept)

    def _agrees(self, condition: Agreement) -> Mask:
        where: Mask = np.ones([1] * len(self.dimensions), np.bool_)
        for position, allowed in condition:
            column = self._whole[self.paths[position]]
            where = where & np.array([same_as(value.value) in allowed for value in column.values])[column.codes]
        return where

    def _spread(self, column: Coded[AxisValue]) -> Coded[AxisValue]:
        if len(column.values) == 1:
            return constant(column.values[0], self.count)
        codes = np.broadcast_to(column.codes, tuple(len(rows) for rows in self.dimensions)).ravel()
        return Coded(column.values, codes if len(codes) == self.count else codes[self._kept])

    def column(self, position: int) -> list[AxisValue]:
        """The values of the path at `position`, before expressions are worked out; none of one that is computed."""
        for rows in self.dimensions:
            if position < len(rows[0]):
                return [row[position] for row in rows]
            position -= len(rows[0])
        return []


SIZES = ("n", "d")
"""Axes whose values are counted: what is no number there has a problem of its own."""


def _worked_out(one: Computed, inputs: tuple[Any, ...], before: AxisValue) -> AxisValue:
    """The value of a computed axis, placed at the factor that it had or at its expression."""
    source, key = (one.source, one.key) if before is UNKNOWN else (before.source, before.key)
    if any(value is BROKEN for value in inputs):
        return AxisValue(BROKEN, source, key)
    numbers = dict(zip((name for name, _, _ in one.inputs), inputs, strict=True))
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            if name in SIZES:
                return AxisValue(BROKEN, source, key)
            raise Unworkable(source, f"uses {name}, which is {as_shown(value)} and no number")
    try:
        return AxisValue(one.value(numbers), source, key)
    except ExpressionError as error:
        raise Unworkable(source, str(error)) from error


def computed_axes(blocks: Iterable[Block]) -> tuple[str, ...]:
    """The paths that expressions alone give, each once."""
    return tuple(
        dict.fromkeys(
            block.paths[one.position] for block in blocks for one in block.computed if one.position >= _own_count(block)
        )
    )


def _own_count(block: Block) -> int:
    return sum(len(rows[0]) for rows in block.dimensions)


def axes_of(blocks: Iterable[Block]) -> tuple[str, ...]:
    """The paths of all blocks, each once."""
    return tuple(dict.fromkeys(path for block in blocks for path in block.paths))
