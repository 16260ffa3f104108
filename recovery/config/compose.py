"""From a tree to grid cells: the axes override the config's own fields at every point, and the result is validated.

Coordinates are the flat, short values by which rows name their grid cell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from recovery.config.axes import is_user_axis
from recovery.config.checks import Checks
from recovery.config.components import (
    ABSENT,
    COMPONENTS,
    DEFAULTS,
    NO_DATA,
    Choice,
    Component,
    Context,
    Single,
    fields_of,
    user_code_in,
)
from recovery.config.points import BROKEN, AxisValue, Block, Point, axes_of
from recovery.config.tree import ConfigError, Path, Problem, Tree, as_shown, value_at
from recovery.config.trials import AXES, Cell
from recovery.config.values import same_as
from recovery.methods.columns import FIXED
from recovery.types import Scalar
from recovery.user import is_user_name

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
    """Composes the cells of a sweep, and each component of theirs once; all problems go to the tree."""

    tree: Tree
    seed: int
    context: Context
    measures: frozenset[str]
    built: dict[tuple[Any, ...], Component | None] = field(default_factory=dict)
    """(science field, axis values) -> the component, or None if it has a problem."""

    def cells(self, blocks: Sequence[Block]) -> list[Cell]:
        """Return the cells of blocks: points of equal canonical JSON are one cell, with the first point's coordinates.

        If the context allows imports, cells are also checked, and have the costs that their methods estimate.
        """
        coordinates = Coordinates(blocks, columns_of_cells(self.tree, axes_of(blocks)))
        checks = Checks(self.tree, self.measures)
        found, start, lacks_architecture = dict[tuple[str, ...], Cell](), 0, False
        for block in blocks:
            inside = {name: _inside(name, block.paths) for name in fields_of(self.tree.value, block.paths)}
            computed = {one.path for one in block.computed}
            if free := [axis for axis in block.paths if is_user_axis(axis) and axis not in computed]:
                # two values of such an axis that give equal fields, such as n after rounding, are two cells
                inside[AXES] = tuple((axis, (axis,)) for axis in free)
            for number, point in enumerate(block.points(self._report), start):
                if (parts := self._parts(point, inside)) is None:
                    continue
                if parts.get("architecture", ABSENT) is ABSENT and not is_user_name(parts["method"].tag):
                    lacks_architecture = True
                    continue
                texts = (*parts, *[part.text for part in parts.values()])
                if texts not in found:
                    at = coordinates.of(point, parts)
                    cost = checks.cost(parts, point, at) if self.context.imports else 1.0
                    found[texts] = Cell(self.seed, parts, at, cost, number, self.measures)
            start += block.count
        if lacks_architecture and self.tree.value.get("data") == NO_DATA:
            self.tree.report(("method",), "`data: none` is for a method of your own: {kind: module:Class}")
        elif lacks_architecture:
            self._missing("architecture")
        cells = list(found.values())
        unify([cell.coordinates for cell in cells])
        return cells

    def made(self, name: str) -> list[Component]:
        """Return every component of the science field `name` that could be built."""
        return [part for (of, *_), part in self.built.items() if of == name and part is not None]

    def _report(self, source: Path, text: str) -> None:
        if all(problem.path != source for problem in self.tree.problems):
            self.tree.report(source, text)

    def _missing(self, name: str) -> None:
        text = f"is missing; add `{_EXAMPLES[name]}`, or an axis"
        if name != "method" and user_code_in({"method": self.tree.value.get("method")}):
            text += "; a method that needs no such data has `data: none`"
        self.tree.problems.append(Problem((name,), text, place=self.tree.place(())))

    def _parts(self, point: Point, inside: Mapping[str, Sequence[tuple[str, Path]]]) -> dict[str, Component] | None:
        """Return field -> component at a point, user axes included; None if one has a problem. inside: of `_inside`."""
        parts = dict[str, Component]()
        for name, paths in inside.items():
            key = (name, *[point[path] for path, _ in paths])
            if key not in self.built:
                self.built[key] = self._build(name, [(point[path], rest) for path, rest in paths])
            if (part := self.built[key]) is not None:
                parts[name] = part
        return parts if len(parts) == len(inside) else None

    def _build(self, name: str, overlays: Overlays) -> Component | None:
        if any(value.value is BROKEN for value, _ in overlays):
            return None
        if name == AXES:
            values = {str(path[0]): value.value for value, path in overlays}
            return Component(values, None, values, values)
        base = self.tree.value.get(name, DEFAULTS.get(name))
        if name == "data" and base == NO_DATA:
            return Component(base, base, base, base)
        if name == "architecture" and base is None and not overlays:
            return ABSENT
        if name not in self.tree.value and name not in DEFAULTS and not overlays:
            self._missing(name)
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
    """Return those of these axes that are in the component `name`, with their paths inside it; the shortest first."""
    inside = [(path, tuple(path.split(".")[1:])) for path in paths if path.partition(".")[0] == name]
    return tuple(sorted(inside, key=lambda item: (len(item[1]), item[1])))


def _origin(name: str, overlays: Overlays, problem: Problem) -> tuple[Path, bool]:
    """Return the path in the config of a problem of the component `name`, and whether a key is wrong there."""
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


TAGGED = {"ensemble": "data", "planted": "planted", "method": "method"}
"""Fixed column -> the science field whose tag it holds."""
NUMBERS = {int, float, type(None)}
"""Types that one numeric column can hold together."""


def columns_of_cells(tree: Tree, axes: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the coordinates of grid cells with these axes."""
    given = fields_of(tree.value, axes)
    return tuple(dict.fromkeys([*(name for name in FIXED if TAGGED.get(name, name) in given), *axes]))


@dataclass
class Coordinates:
    """Makes the coordinates of grid cells: the fixed columns (n, d, noise, ...), then one column for each axis.

    A mapping is labelled by its kind, and by its other keys if several mappings have this kind: `relu k=2`.
    """

    blocks: Sequence[Block]
    names: Sequence[str]
    known: dict[tuple[str, Component], Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        axes = axes_of(self.blocks)
        self.fields = {name: name.partition(".")[0] if name in axes else TAGGED.get(name, name) for name in self.names}
        self._labels = {path: labels for path in axes if (labels := _mapping_labels(path, self.blocks))}

    def of(self, point: Point, parts: Mapping[str, Component]) -> dict[str, Scalar]:
        """Return the coordinates of the cell at a point with these components."""
        return {name: self._value(name, point, parts) for name in self.fields}

    def _value(self, name: str, point: Point, parts: Mapping[str, Component]) -> Scalar:
        field = self.fields[name]
        if field not in COMPONENTS:  # a user axis
            return point[name].value if name in point else None
        if name in self._labels and name in point:
            label = self._labels[name].get(same_as(point[name].value))
            if label is not None:
                return label
        if (part := parts.get(field)) is None:
            return None
        if (name, part) not in self.known:
            self.known[name, part] = _value_inside(part, name)
        return self.known[name, part]


def unify(rows: Sequence[dict[str, Scalar]]) -> None:
    """Convert to text, in place, each coordinate whose values have several types (`auto` and 30, `inputs` and true)."""
    for name in rows[0] if rows else ():
        types = {type(row[name]) for row in rows}
        if len(types - {type(None)}) > 1 and not types <= NUMBERS:
            for row in rows:
                value = row[name]
                row[name] = None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _value_inside(part: Component, name: str) -> Scalar:
    """Return the tag of a component or, for a path `field.key`, the value inside it, as one scalar."""
    inside = name.partition(".")[2]
    if not inside and part.tag is not None:
        return part.tag
    return _flat(value_at(part.resolved, inside) if inside else part.resolved)


def _flat(value: Any) -> Scalar:
    """Return a value as one scalar; a list or mapping as short text."""
    if isinstance(value, dict):
        return " ".join(f"{key}={_flat(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(str(_flat(item)) for item in value)
    return value


def _mapping_labels(path: str, blocks: Sequence[Block]) -> dict[object, str]:
    """Return the label of each mapping among the values of an axis."""
    values = [one.value for block in blocks for one in block.given(path)]
    mappings = {same_as(value): value for value in values if isinstance(value, dict)}
    kind = COMPONENTS.get(path)
    tag = kind.tag if isinstance(kind, Choice) else None
    if tag is None:
        return {key: str(_flat(value)) for key, value in mappings.items()}
    kinds = [value.get(tag) for value in mappings.values()]
    labels = {}
    for key, value in mappings.items():
        rest = {name: item for name, item in value.items() if name != tag}
        alone = kinds.count(value.get(tag)) == 1 or not rest
        labels[key] = str(value.get(tag)) if alone else f"{value.get(tag)} {_flat(rest)}"
    return labels
