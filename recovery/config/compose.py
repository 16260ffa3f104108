"""From a tree to grid cells: the axes override the config's own fields at every point, and the result is validated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recovery.config.categorical import CategoricalColumn, concatenated, constant, distinct
from recovery.config.checks import Checks
from recovery.config.components import ABSENT, CHOICES, COMPONENTS, DEFAULTS, Component, Context, Single
from recovery.config.coordinates import Labels, ValidPoints, of_one_type
from recovery.config.points import BROKEN, AxisValue, Block
from recovery.config.tree import Fault, Invalid, Path, Problem, Tree, as_shown
from recovery.config.trials import AXES, LEAST_COST, NO_AXES, SweepCells, user_code_of
from recovery.config.user_axes import Parameters, offered, only_user_methods, takes, user_axes
from recovery.types import Index
from recovery.user import fingerprint

_EXAMPLES = {
    "n": "n: 100",
    "d": "d: 20",
    "data": "data: {ensemble: gaussian}",
    "planted": "planted: {kind: linear}",
    "architecture": "architecture: relu_skip",
    "method": "method: {kind: min_norm}",
}

Overlays = list[tuple[AxisValue, Path]]
"""Axis values, each with the path inside a component that it is for."""
Offers = list[tuple[AxisValue, str]]
"""Values of user axes, each with the name of the axis, for components that take them as parameters."""


@dataclass
class Composer:
    """Composes every cell of a sweep once, and collects the problems of all cells."""

    tree: Tree
    seed: int
    context: Context
    parameters: Parameters
    problems: list[Problem] = field(default_factory=list)
    built: dict[tuple[Any, ...], Component | None] = field(default_factory=dict)
    """(science field, axis values) -> the component, or None if it has a problem."""

    def cells(self, blocks: Sequence[Block]) -> SweepCells:
        """Return the cells of blocks: points of equal canonical JSON are one, with coordinates of the first point."""
        labels, tables = Labels(blocks), [self._points(block) for block in blocks]
        every = {name: concatenated(table.parts[name] for table in tables) for name in (*COMPONENTS, AXES)}
        kept, _ = distinct([column.map(lambda part: part.text).merged() for column in every.values()])
        block = np.repeat(np.arange(len(tables)), [len(table.row) for table in tables])[kept]
        row = np.concatenate([table.row for table in tables])[kept]
        starts = np.cumsum([0, *(one.count for one in blocks[:-1])])
        place = np.concatenate([start + table.row for start, table in zip(starts, tables, strict=True)])

        def axes_at(cell: int) -> dict[str, AxisValue]:
            return {path: column[row[cell]] for path, column in blocks[block[cell]].columns.items()}

        checks = Checks(self.tree, {name: column.take(kept) for name, column in every.items()}, axes_at)
        fits = np.flatnonzero(checks.fits())
        costs = np.maximum(checks.costs(fits), LEAST_COST)
        self.problems += checks.problems
        parts = {name: column.take(fits) for name, column in checks.parts.items()}
        coordinates = {
            name: of_one_type(concatenated(labels.column(name, table) for table in tables).take(kept[fits]))
            for name in labels.names
        }
        hashes = {names: fingerprint(names) for names in user_code_of(parts).distinct if names}
        return SweepCells(self.seed, parts, coordinates, costs, place[kept[fits]], hashes)

    def made(self, name: str) -> list[Component]:
        """Return every component of the science field `name` that could be built."""
        return [part for (of, *_), part in self.built.items() if of == name and part is not None]

    def _points(self, block: Block) -> ValidPoints:
        """Return the points of a block that have no problem, with their validated components."""
        free, columns = user_axes(block.paths), block.columns
        self.problems += {
            fault.source: self.tree.problem(fault.source, fault.text) for fault in reversed(block.faults)
        }.values()
        parts = {name: self._component(name, block, offered(name, free, self.parameters)) for name in COMPONENTS}
        # a point is left out if one of its components is None, which a broken value causes, or if a user axis has a
        # broken value: a user axis may belong to no component
        missing = [([part is None for part in column.values], column.codes) for column in parts.values()]
        missing += [([one.value is BROKEN for one in columns[axis].values], columns[axis].codes) for axis in free]
        row = np.flatnonzero(~np.logical_or.reduce([np.array(values, np.bool_)[codes] for values, codes in missing]))
        sound: dict[str, Any] = {name: column.take(row).map(lambda part: part) for name, column in parts.items()}
        sound[AXES] = self._unreflected_axes(block, row, sound)
        return ValidPoints(block, row, sound)

    def _component(self, name: str, block: Block, offers: Sequence[str]) -> CategoricalColumn[Component | None]:
        """Return the component `name` at every point of a block; each combination of axis values is built once."""
        inside = [(path, tuple(path.split(".")[1:])) for path in block.paths if path.partition(".")[0] == name]
        # values of whole components come first, then values of their fields
        inside.sort(key=lambda item: (len(item[1]), item[1]))
        columns = [block.columns[path] for path in (*(path for path, _ in inside), *offers)]
        if not columns:
            return constant(self._built(name, [], []), block.count)
        first, number = distinct(columns)
        made = []
        for row in first:
            values = [column[row] for column in columns]
            overlays: Overlays = [(value, path) for value, (_, path) in zip(values, inside, strict=False)]
            made.append(self._built(name, overlays, list(zip(values[len(inside) :], offers, strict=True))))
        return CategoricalColumn(made, number)

    def _unreflected_axes(
        self, block: Block, row: Index, parts: Mapping[str, CategoricalColumn[Component]]
    ) -> CategoricalColumn[Component]:
        """Return, for each cell, a component of the user axes that no science field of the cell reflects.

        Two values of such an axis that give equal fields, such as n after rounding, are two cells with separate draws.
        """
        computed = {block.paths[one.position] for one in block.computed}
        axes = {axis: block.columns[axis].take(row) for axis in user_axes(block.paths) if axis not in computed}
        if not axes:
            return constant(NO_AXES, len(row))
        choices = {name: parts[name] for name in CHOICES}
        first, number = distinct([*axes.values(), *choices.values()])
        made = []
        for at in first:
            free = {
                axis: column[at].value
                for axis, column in axes.items()
                if not any(takes(name, one[at].resolved, axis, self.parameters) for name, one in choices.items())
            }
            made.append(Component.of(free, None, free, free) if free else NO_AXES)
        return CategoricalColumn(made, number).merged()

    def _built(self, name: str, overlays: Overlays, offers: Offers) -> Component | None:
        key = (name, *overlays, *offers)
        if key not in self.built:
            self.built[key] = self._build(name, overlays, offers)
        return self.built[key]

    def _build(self, name: str, overlays: Overlays, offers: Offers) -> Component | None:
        if any(value.value is BROKEN for value, _ in overlays):
            return None
        base = self.tree.value.get(name, DEFAULTS.get(name))
        if name == "architecture" and base is None and not overlays and only_user_methods(self.tree):
            return ABSENT
        if name not in self.tree.value and name not in DEFAULTS and not overlays:
            text = f"is missing; add `{_EXAMPLES[name]}`, or an axis"
            self.problems.append(Problem(self.tree.place(()), name, text))
            return None
        for value, path in overlays:
            base = overlaid(base, path, value.value)
        for value, axis in offers:
            if takes(name, base, axis, self.parameters):
                if value.value is BROKEN:
                    return None
                base = overlaid(base, (axis,), value.value)
                overlays = [*overlays, (value, (axis,))]
        try:
            return COMPONENTS[name].make(base, self.context)
        except Invalid as error:
            hint = ""
            if isinstance(COMPONENTS[name], Single) and isinstance(base, list | dict) and not overlays:
                hint = f"; several values stand under axes: `axes: {{{name}: {as_shown(base)}}}`"
            faults = [replace(fault, text=fault.text + hint) for fault in error.faults]
            self.problems += [self._problem(name, overlays, fault) for fault in faults]
            return None

    def _problem(self, name: str, overlays: Overlays, fault: Fault) -> Problem:
        """Return a fault as a problem, placed at the axis value that it comes from, if there is one."""
        for value, path in reversed(overlays):
            if fault.path[: len(path)] == path:
                if fault.path == path and fault.key:
                    return self.tree.problem(value.key, fault.text, key=True)
                at = (*value.source, *fault.path[len(path) :])
                return self.tree.problem(at, fault.text, key=fault.key, missing=fault.missing)
            if path[: len(fault.path)] == fault.path:
                return self.tree.problem(value.source, fault.text)
        return self.tree.problem((name, *fault.path), fault.text, key=fault.key, missing=fault.missing)


def overlaid(base: Any, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of `base` with `value` at `path`."""
    if not path:
        return value
    inner = base if isinstance(base, dict) else {}
    return {**inner, path[0]: overlaid(inner.get(path[0]), path[1:], value)}
