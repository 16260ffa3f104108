"""The points of a block of axes: every combination of values, with expressions evaluated and filters applied."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import floor, prod
from typing import Any

import numpy as np

from recovery.config.categorical import CategoricalColumn, constant, distinct
from recovery.config.tree import Path, as_shown
from recovery.config.values import same_as
from recovery.errors import RecoverError
from recovery.expressions import Expression, ExpressionError
from recovery.types import Index, Mask

BROKEN = object()
"""Stands for the value of an axis with an error, so that the grid cells with this value report no further errors."""

SIZES = ("n", "d")
"""Integer axes. Values that are not numbers are reported elsewhere."""


@dataclass(frozen=True, eq=False)
class AxisValue:
    """One value of an axis; `source` is its path in the document, `key` the path of the axis."""

    value: Any
    source: Path
    key: Path


class Unworkable(RecoverError):  # noqa: N818  (it becomes a problem at `source`)
    """Error: an expression has no value at some point."""

    def __init__(self, source: Path, text: str) -> None:
        self.source, self.text = source, text
        super().__init__(text)


Point = tuple[AxisValue, ...]
Agreement = tuple[tuple[int, frozenset[object]], ...]
"""Position of a path in a point -> keys (`same_as`) of the values that a filter accepts."""

Inputs = tuple[tuple[str, int | None, int | float], ...]
"""Name in an expression -> the position of its axis in a point, or a constant."""


@dataclass(frozen=True, eq=False)
class Computed:
    """An axis whose values an expression computes. If it has values of its own, they are factors in the expression.

    whole: it is a size, rounded to the nearest integer, halves up; positive values are at least 1.
    """

    position: int
    expression: Expression
    inputs: Inputs
    source: Path
    whole: bool

    def value(self, inputs: Sequence[Any], factor: AxisValue | None) -> AxisValue:
        """Return the value for these inputs, placed at its factor or expression. Raises `Unworkable` if none exists."""
        source, key = (self.source, self.source) if factor is None else (factor.source, factor.key)
        broken = AxisValue(BROKEN, source, key)
        numbers = dict(zip((name for name, _, _ in self.inputs), inputs, strict=True))
        if any(value is BROKEN for value in inputs):
            return broken
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                if name in SIZES:
                    return broken
                raise Unworkable(source, f"uses {name}, which is {as_shown(value)} and no number")
        try:
            if not self.whole:
                return AxisValue(self.expression.number(numbers), source, key)
            exact = self.expression.fraction(numbers)
        except ExpressionError as error:
            raise Unworkable(source, str(error)) from error
        return AxisValue(max(floor(exact + Fraction(1, 2)), int(exact > 0)), source, key)


@dataclass(frozen=True, eq=False)
class Block:
    """One block of axes. `dimensions` has, for each independent axis or zipped group, the rows of values of its paths.

    `paths` are the paths of all rows, concatenated, followed by the computed axes. `computed` is ordered so that each
    expression uses earlier axes only. A point is one row of each dimension; the first changes slowest.
    """

    paths: tuple[str, ...]
    dimensions: tuple[tuple[Point, ...], ...]
    computed: tuple[Computed, ...] = ()
    include: tuple[Agreement, ...] = ()
    exclude: tuple[Agreement, ...] = ()
    faults: list[Unworkable] = field(default_factory=list)
    """Expressions without a value, filled in when `columns` is evaluated; such a value is BROKEN."""

    @cached_property
    def columns(self) -> dict[str, CategoricalColumn[AxisValue]]:
        """The values of each path at every point that the filters keep."""
        return {path: self._spread(column) for path, column in self._all.items()}

    @cached_property
    def count(self) -> int:
        """The number of points."""
        return len(self._kept)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(rows) for rows in self.dimensions)

    @cached_property
    def _all(self) -> dict[str, CategoricalColumn[AxisValue]]:
        """`columns` before filters: codes have the shape of the dimensions, with length 1 where they are constant."""
        columns: list[CategoricalColumn[AxisValue] | None] = []
        for i, rows in enumerate(self.dimensions):
            along = np.arange(len(rows), dtype=np.int32).reshape([-1 if k == i else 1 for k in range(len(self._shape))])
            columns += [CategoricalColumn(values, along) for values in zip(*rows, strict=True)]
        columns += [None] * (len(self.paths) - len(columns))
        for one in self.computed:
            columns[one.position] = self._evaluated(one, columns)
        # axes computed from each other in a circle have no values; the circle is reported elsewhere
        unknown = CategoricalColumn([AxisValue(BROKEN, (), ())], np.zeros((), np.intp))
        return {path: unknown if one is None else one for path, one in zip(self.paths, columns, strict=True)}

    def _evaluated(
        self, one: Computed, columns: Sequence[CategoricalColumn[AxisValue] | None]
    ) -> CategoricalColumn[AxisValue]:
        """Return the values of an expression, evaluated once for each combination of its inputs."""
        inputs = [column for _, at, _ in one.inputs if at is not None and (column := columns[at]) is not None]
        spread = np.broadcast_arrays(*(column.codes for column in inputs), np.zeros((), np.intp))
        flat = [CategoricalColumn(column.values, codes.ravel()) for column, codes in zip(inputs, spread, strict=False)]
        # if the axis has values of its own, they are factors in the expression and its first input
        has_factor = columns[one.position] is not None
        first, number = distinct(flat) if flat else (np.zeros(1, np.intp), np.zeros(1, np.intp))
        values, known = list[AxisValue](), dict[tuple[type, object, Path], AxisValue]()
        for row in first:
            at = iter(flat)
            numbers = [given if position is None else next(at)[row].value for _, position, given in one.inputs]
            try:
                value = one.value(numbers, flat[0][row] if has_factor else None)
            except Unworkable as error:
                self.faults.append(error)
                value = AxisValue(BROKEN, error.source, one.source)
            values.append(known.setdefault((type(value.value), value.value, value.source), value))
        return CategoricalColumn(values, number.reshape(spread[-1].shape)).merged()

    @cached_property
    def _kept(self) -> Index:
        """The numbers of the combinations that the filters keep."""
        if not (self.include or self.exclude):
            return np.arange(prod(self._shape))
        kept = np.broadcast_to(not self.include, self._shape).copy()
        for condition in self.include:
            kept |= self._agrees(condition)
        for condition in self.exclude:
            kept &= ~self._agrees(condition)
        return np.flatnonzero(kept)

    def _agrees(self, condition: Agreement) -> Mask:
        where: Mask = np.ones([1] * len(self.dimensions), np.bool_)
        for position, allowed in condition:
            column = self._all[self.paths[position]]
            where = where & np.array([same_as(value.value) in allowed for value in column.values])[column.codes]
        return where

    def _spread(self, column: CategoricalColumn[AxisValue]) -> CategoricalColumn[AxisValue]:
        if len(column.values) == 1:
            return constant(column.values[0], self.count)
        codes = np.broadcast_to(column.codes, self._shape).ravel()
        return CategoricalColumn(column.values, codes if len(codes) == self.count else codes[self._kept])

    def given(self, path: str) -> list[AxisValue]:
        """Return the values that the config gives for `path`; none for a computed axis, and factors for multiples."""
        position = self.paths.index(path)
        for rows in self.dimensions:
            if position < len(rows[0]):
                return [row[position] for row in rows]
            position -= len(rows[0])
        return []


def computed_axes(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Return the paths that are given by expressions alone, each once."""
    paths = ((block, block.paths[one.position]) for block in blocks for one in block.computed)
    return tuple(dict.fromkeys(path for block, path in paths if not block.given(path)))


def axes_of(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Return the paths of all blocks, each once."""
    return tuple(dict.fromkeys(path for block in blocks for path in block.paths))
