"""The slices of an adaptive sweep: the axis along which the threshold lies, and the axis that moves within a slice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recovery.config.header import ReportSpec
from recovery.config.points import Block, computed_axes
from recovery.config.tree import canonical_json
from recovery.config.trials import Cell
from recovery.config.values import same_as
from recovery.expressions import is_expression, parse
from recovery.types import Scalar


@dataclass(frozen=True)
class Slicing:
    """The threshold lies along `x`, a coordinate or an expression. Within a slice, the axis `moving` changes, and with
    it the `computed` axes; all other coordinates are constant. moving: None if x does not vary.

    pool: the expression that has one value at the thresholds of all slices, None for one threshold per slice. by: the
    coordinate in which pooled slices differ.
    """

    x: str
    moving: str | None
    computed: tuple[str, ...]
    pool: str | None
    by: str | None = None

    @property
    def what(self) -> str:
        """The pooled expression, or x."""
        return self.pool or self.x

    def value(self, coordinates: Mapping[str, Scalar], of: str = "") -> float:
        """Return the number that x or, if given, the coordinate or expression `of` has at these coordinates."""
        of = of or self.x
        names = parse(of).names if is_expression(of) else (of,)
        numbers = {name: float(coordinates[name] or 0) for name in names}
        return numbers[of] if of in numbers else float(parse(of).number(numbers))

    def key(self, coordinates: Mapping[str, Scalar], *but: str | None) -> str:
        """Return a text that is equal for the cells of a slice, and of slices that differ in the axes `but` alone."""
        left_out = {self.moving, *self.computed, *but}
        return canonical_json({axis: value for axis, value in coordinates.items() if axis not in left_out})

    def groups(self, cells: Iterable[Cell]) -> dict[str, list[Cell]]:
        """Return key -> the grid cells of each slice."""
        groups: dict[str, list[Cell]] = {}
        for cell in cells:
            groups.setdefault(self.key(cell.coordinates), []).append(cell)
        return groups


def slicing(report: ReportSpec, blocks: Sequence[Block]) -> Slicing:
    """Return the slices of a config, as the report lays them out: along x, by default n."""
    operands = {one.path: one.expression.names for block in blocks for one in block.computed}
    values: dict[str, set[object]] = {}
    for block in blocks:
        for path in block.paths:
            values.setdefault(path, set()).update(same_as(one.value) for one in block.given(path))
    varying = {path for path, some in values.items() if len(some) > 1}
    x, y = report.x or ("n" if values.get("n") else None), report.y
    if x == "d" and y in (None, "n") and "n" in varying:
        x, y = "n", "d"
    fixed = {y, report.panel}
    names = [] if x is None else given_axes(x, operands)
    moving = next((name for name in names if name in varying - fixed), None)
    ratio = x == "n" and y in (None, "d") and not varying.isdisjoint(given_axes("d", operands))
    pool = report.pooled_by("n/d" if ratio else None)
    return Slicing(x or "n", moving, computed_axes(blocks), pool, y or ("d" if pool == "n/d" else None))


def given_axes(name: str, operands: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the axes with listed values on which `name` depends. operands: computed axis -> names that it uses."""
    parts = parse(name).names if is_expression(name) else operands.get(name)
    return [name] if parts is None else [axis for part in parts for axis in given_axes(part, operands)]
