"""From a tree to grid cells: the axes override the config's own fields at every point, and the result is validated."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from recovery.config.checks import Checks
from recovery.config.components import ABSENT, COMPONENTS, DEFAULTS, Component, Context, Single, only_user_methods
from recovery.config.coordinates import Coordinates, unify
from recovery.config.points import BROKEN, AxisValue, Block, Point
from recovery.config.tree import ConfigError, Path, Problem, Tree, as_shown
from recovery.config.trials import AXES, Cell
from recovery.config.user_axes import user_axes
from recovery.types import Scalar

_EXAMPLES = {
    "n": "n: 100",
    "d": "d: 20",
    "data": "data: {ensemble: gaussian}",
    "planted": "planted: {kind: linear}",
    "architecture": "architecture: relu_skip",
    "method": "method: {kind: min_norm}",
}

Overlays = Sequence[tuple[AxisValue, Path]]
"""Axis values, each with the path inside a component that it is for."""


@dataclass
class Composer:
    """Composes every cell of a sweep once; the problems of all cells go to the tree."""

    tree: Tree
    seed: int
    context: Context
    built: dict[tuple[Any, ...], Component | None] = field(default_factory=dict)
    """(science field, axis values) -> the component, or None if it has a problem."""

    def cells(self, blocks: Sequence[Block]) -> list[Cell]:
        """Return the cells of blocks: points of equal canonical JSON are one, with coordinates of the first point.

        If the context allows imports, the cells are also checked, and have the methods' estimates of their cost.
        """
        coordinates, checks = Coordinates(blocks), Checks(self.tree)
        found, start = dict[tuple[str, ...], Cell](), 0
        for block in blocks:
            inside = {name: _inside(name, block.paths) for name in COMPONENTS}
            computed = {one.path for one in block.computed}
            free = [axis for axis in user_axes(block.paths) if axis not in computed]
            for number, point in enumerate(block.points(self._report), start):
                parts = self._parts(point, inside, free)
                if parts is None:
                    continue
                texts = tuple([part.text for part in parts.values()])
                if texts not in found:
                    cost = checks.cost(parts, point) if self.context.imports else 1.0
                    found[texts] = Cell(
                        self.seed, parts, coordinates.of(point, parts, coordinates.fields), cost, number
                    )
            start += block.count
        cells = list(found.values())
        unify([cell.coordinates for cell in cells])
        return cells

    def combinations(self, blocks: Sequence[Block], names: Sequence[str]) -> list[tuple[Scalar, ...]]:
        """Return the combinations of values that these coordinates take, in the order of the config.

        Only the components that the coordinates describe are composed. Points without one are left out.
        """
        coordinates = Coordinates(blocks)
        if not coordinates.fields.keys() >= set(names):
            return []
        rows = []
        for block in blocks:
            fields = {coordinates.fields[name] for name in names} & COMPONENTS.keys()
            inside = {field: _inside(field, block.paths) for field in fields}
            points = ((point, self._parts(point, inside, ())) for point in block.points())
            rows += [coordinates.of(point, parts, names) for point, parts in points if parts is not None]
        unify(rows)
        return list(dict.fromkeys(tuple(row.values()) for row in rows))

    def made(self, name: str) -> list[Component]:
        """Return every component of the science field `name` that could be built."""
        return [part for (of, *_), part in self.built.items() if of == name and part is not None]

    def _report(self, source: Path, text: str) -> None:
        if all(problem.path != source for problem in self.tree.problems):
            self.tree.report(source, text)

    def _parts(
        self, point: Point, inside: dict[str, tuple[tuple[str, Path], ...]], free: Sequence[str]
    ) -> dict[str, Component] | None:
        """Return the components at a point, and its user axes; None if one of them has a problem."""
        parts, sound = dict[str, Component](), True
        for name, paths in inside.items():
            key = (name, *[point[path] for path, _ in paths])
            if key not in self.built:
                self.built[key] = self._build(name, [(point[path], rest) for path, rest in paths])
            if (part := self.built[key]) is None:
                sound = False
            else:
                parts[name] = part
        if free:
            # two values of such an axis that give equal fields, such as n after rounding, are two cells
            key = (AXES, *[point[axis] for axis in free])
            if key not in self.built:
                values = {axis: point[axis].value for axis in free}
                self.built[key] = None if BROKEN in values.values() else Component(values, None, values, values)
            if (part := self.built[key]) is None:
                sound = False
            else:
                parts[AXES] = part
        return parts if sound else None

    def _build(self, name: str, overlays: Overlays) -> Component | None:
        if any(value.value is BROKEN for value, _ in overlays):
            return None
        base = self.tree.value.get(name, DEFAULTS.get(name))
        if name == "architecture" and base is None and not overlays and only_user_methods(self.tree):
            return ABSENT
        if name not in self.tree.value and name not in DEFAULTS and not overlays:
            text = f"is missing; add `{_EXAMPLES[name]}`, or an axis"
            self.tree.problems.append(Problem((name,), text, place=self.tree.place(())))
            return None
        for value, path in overlays:
            base = overlaid(base, path, value.value)
        try:
            return COMPONENTS[name].make(base, self.context)
        except ConfigError as error:
            hint = ""
            if isinstance(COMPONENTS[name], Single) and isinstance(base, list | dict) and not overlays:
                hint = f"; several values stand under axes: `axes: {{{name}: {as_shown(base)}}}`"
            for problem in error.problems:
                path, key = _origin(name, overlays, problem)
                self.tree.report(path, problem.text + hint, key=key)
            return None


def _inside(name: str, paths: Sequence[str]) -> tuple[tuple[str, Path], ...]:
    """Return the axes in a component with their paths inside it: whole components first, then their fields."""
    inside = [(path, tuple(path.split(".")[1:])) for path in paths if path.partition(".")[0] == name]
    return tuple(sorted(inside, key=lambda item: (len(item[1]), item[1])))


def _origin(name: str, overlays: Overlays, problem: Problem) -> tuple[Path, bool]:
    """Return the path of the axis value that a problem comes from, if there is one, and whether its key is wrong."""
    for value, path in reversed(overlays):
        if problem.path[: len(path)] == path:
            if problem.path == path and problem.key:
                return value.key, True
            return (*value.source, *problem.path[len(path) :]), problem.key
        if path[: len(problem.path)] == problem.path:
            return value.source, False
    return (name, *problem.path), problem.key


def overlaid(base: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of `base` with `value` at `path`."""
    if not path:
        return value
    inner = base if isinstance(base, dict) else {}
    return {**inner, path[0]: overlaid(inner.get(path[0]), path[1:], value)}
