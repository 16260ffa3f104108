"""The points of a block of axes: every combination of their values, with multiples worked out and filters applied."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from recovery.config.problems import Path
from recovery.config.values import product, same_as

BROKEN = object()
"""The value of an axis that has an error of its own: nothing is said about the cells that it would have made."""


@dataclass(frozen=True, eq=False)
class AxisValue:
    """One value of an axis; `source` is its path in the document, `key` that of the axis."""

    value: Any
    source: Path
    key: Path


Point = tuple[AxisValue, ...]
Agreement = tuple[tuple[int, frozenset[object]], ...]
"""Position of a path in a point -> keys (`same_as`) of the values that agree."""


@dataclass(frozen=True)
class Block:
    """`dimensions`: for each independent axis the rows of values of its paths. `paths` names a row's concatenation.

    `derived`: position of a path whose values are factors -> the position of the axis, or the size, that they multiply.
    """

    paths: tuple[str, ...]
    dimensions: tuple[tuple[Point, ...], ...]
    derived: tuple[tuple[int, int | None, int], ...] = ()
    include: tuple[Agreement, ...] = ()
    exclude: tuple[Agreement, ...] = ()

    def points(self) -> Iterator[Point]:
        """Every point, the first axis changing slowest; multiples are worked out."""
        multiples: dict[tuple[AxisValue, int], AxisValue] = {}
        for rows in itertools.product(*self.dimensions):
            point = tuple(itertools.chain.from_iterable(rows))
            for position, base, size in self.derived:
                times = point[position]
                if base is not None:
                    size = point[base].value if is_size(point[base].value) else 1
                if (times, size) not in multiples:
                    multiples[times, size] = AxisValue(product(times.value, size), times.source, times.key)
                point = (*point[:position], multiples[times, size], *point[position + 1 :])
            if self._keeps(point):
                yield point

    def column(self, position: int) -> list[AxisValue]:
        """The values of the path at `position`, before multiples are worked out."""
        for rows in self.dimensions:
            if position < len(rows[0]):
                return [row[position] for row in rows]
            position -= len(rows[0])
        raise IndexError(position)

    def _keeps(self, point: Point) -> bool:
        if self.include and not any(_agrees(point, condition) for condition in self.include):
            return False
        return not any(_agrees(point, condition) for condition in self.exclude)


def axes_of(blocks: Iterable[Block]) -> tuple[str, ...]:
    """The paths of all blocks, each once."""
    return tuple(dict.fromkeys(path for block in blocks for path in block.paths))


def _agrees(point: Point, condition: Agreement) -> bool:
    return all(same_as(point[position].value) in allowed for position, allowed in condition)


def is_size(value: object) -> bool:
    """Whether a value can be n or d."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
