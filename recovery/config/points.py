"""The points of a block of axes: every combination of their values, with expressions worked out and filters applied."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from recovery.config.problems import Path, as_shown
from recovery.config.values import same_as
from recovery.errors import RecoverError
from recovery.expressions import Expression, ExpressionError

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


@dataclass(frozen=True)
class Block:
    """`dimensions`: for each independent axis the rows of values of its paths. `paths` names a row's concatenation, and
    then the axes that are computed. `computed` stand in an order in which each uses earlier ones only.
    """

    paths: tuple[str, ...]
    dimensions: tuple[tuple[Point, ...], ...]
    computed: tuple[Computed, ...] = ()
    include: tuple[Agreement, ...] = ()
    exclude: tuple[Agreement, ...] = ()

    def points(self) -> Iterator[Point]:
        """Every point, the first axis changing slowest. Raises `Unworkable` where an expression has no value."""
        values: dict[tuple[Any, ...], AxisValue] = {}
        for rows in itertools.product(*self.dimensions):
            point = tuple(itertools.chain.from_iterable(rows))
            point += (UNKNOWN,) * (len(self.paths) - len(point))
            for one in self.computed:
                inputs = tuple(given if at is None else point[at].value for _, at, given in one.inputs)
                if (one, inputs) not in values:
                    values[one, inputs] = _worked_out(one, inputs, point[one.position])
                point = (*point[: one.position], values[one, inputs], *point[one.position + 1 :])
            if self._keeps(point):
                yield point

    def column(self, position: int) -> list[AxisValue]:
        """The values of the path at `position`, before expressions are worked out; none of one that is computed."""
        for rows in self.dimensions:
            if position < len(rows[0]):
                return [row[position] for row in rows]
            position -= len(rows[0])
        return []

    def _keeps(self, point: Point) -> bool:
        if self.include and not any(_agrees(point, condition) for condition in self.include):
            return False
        return not any(_agrees(point, condition) for condition in self.exclude)


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


def _agrees(point: Point, condition: Agreement) -> bool:
    return all(same_as(point[position].value) in allowed for position, allowed in condition)
