"""The points of a block of axes: every combination of values, with expressions evaluated."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import floor, prod
from typing import Any

import numpy as np

from recovery.config.tree import Path, as_shown
from recovery.expressions import Expression, ExpressionError

BROKEN = object()
"""The value of an axis with an error. Points with it are left out, so that they report no further errors."""

SIZES = ("n", "d")
"""Integer axes: computed values are rounded."""
FACTOR = "factor"
"""Name, in the expression of an axis of multiples, of the factors that the axis lists."""


@dataclass(frozen=True, eq=False)
class AxisValue:
    """One value of an axis; `source` is the path of the value in the document, `key` that of the axis."""

    value: Any
    source: Path
    key: Path


Point = Mapping[str, AxisValue]
"""Path of an axis -> its value at one point."""


@dataclass(frozen=True, eq=False)
class Computed:
    """An axis whose values an expression computes.

    given: names in the expression that are no axes -> their numbers in the config. axes: the other names -> the axis
    that has the value; `factor`, in multiples, -> the axis itself. source: the place of the expression.
    """

    path: str
    expression: Expression
    given: Mapping[str, int | float]
    axes: Mapping[str, str]
    source: Path
    known: dict[Any, AxisValue] = field(default_factory=dict, repr=False)
    """Operands, or value with its source -> the value as evaluated before, so that equal values are one object."""

    def at(self, point: Point, report: Callable[[Path, str], None]) -> AxisValue:
        """Return the value at a point; BROKEN without one: then `report` is called with the place and the reason."""
        key = tuple([point[axis] for axis in self.axes.values()])
        if key not in self.known:
            operands = dict(zip(self.axes, key, strict=True))
            own = operands.get(FACTOR, AxisValue(None, self.source, self.source))
            value = self._value(
                {**self.given, **{name: one.value for name, one in operands.items()}}, own.source, report
            )
            one = AxisValue(value, own.source, own.key)
            self.known[key] = self.known.setdefault((type(value), value, own.source), one)
        return self.known[key]

    def _value(self, numbers: Mapping[str, Any], source: Path, report: Callable[[Path, str], None]) -> Any:
        if BROKEN in numbers.values():
            return BROKEN
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                if name not in SIZES:  # a size that is no number is reported where it is given
                    report(source, f"uses {name}, which is {as_shown(value)} and no number")
                return BROKEN
        try:
            if self.path not in SIZES:
                return self.expression.number(numbers)
            exact = self.expression.fraction(numbers)
        except ExpressionError as error:
            report(source, str(error))
            return BROKEN
        return max(floor(exact + Fraction(1, 2)), int(exact > 0))


@dataclass(frozen=True, eq=False)
class Block:
    """One block of axes. `dimensions` has, for each independent axis or zipped group, its rows of values by path.

    `paths` are the paths of the dimensions, followed by those of computed axes. `computed` is ordered so that each
    expression uses earlier axes only. A point is one row of each dimension; the first changes slowest.
    """

    paths: tuple[str, ...]
    dimensions: tuple[tuple[Point, ...], ...]
    computed: tuple[Computed, ...] = ()

    @property
    def count(self) -> int:
        """The number of points."""
        return prod(map(len, self.dimensions))

    def points(self, report: Callable[[Path, str], None]) -> Iterator[Point]:
        """Yield every point. report: called with the place of an expression without a value, and the reason."""
        return (self._point(rows, report) for rows in product(*self.dimensions))

    def point(self, number: int) -> Point:
        """Return the point with this number in the order of `points`."""
        at = np.unravel_index(number, [len(rows) for rows in self.dimensions])
        return self._point([rows[i] for rows, i in zip(self.dimensions, at, strict=True)], lambda source, text: None)

    def _point(self, rows: Iterable[Point], report: Callable[[Path, str], None]) -> Point:
        point: dict[str, AxisValue] = {}
        for row in rows:
            point.update(row)
        for one in self.computed:
            point[one.path] = one.at(point, report)
        return point

    def given(self, path: str) -> list[AxisValue]:
        """Return the values that the config gives for `path`; none for a computed axis, and factors for multiples."""
        return [row[path] for rows in self.dimensions if path in rows[0] for row in rows]


def computed_axes(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Return the paths of the axes that expressions give, not multiples, each once."""
    return tuple(dict.fromkeys(one.path for block in blocks for one in block.computed if FACTOR not in one.axes))


def axes_of(blocks: Iterable[Block]) -> tuple[str, ...]:
    """Return the paths of all blocks, each once."""
    return tuple(dict.fromkeys(path for block in blocks for path in block.paths))
