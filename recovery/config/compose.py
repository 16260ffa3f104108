"""From a tree to cells: each point of the axes laid over the config's own fields, validated, and given its text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from recovery.config.build import Fault, Invalid
from recovery.config.cells import LEAST_COST, Cell, SweepCells
from recovery.config.checks import Checks
from recovery.config.coded import Coded, constant, distinct, joined
from recovery.config.components import ABSENT, COMPONENTS, DEFAULTS, Built, Context, Single, is_left_out
from recovery.config.labels import Labels, Points, of_one_type
from recovery.config.own_axes import CHOICES, offered, own_axes, own_methods_alone, takes
from recovery.config.points import BROKEN, AxisValue, Block
from recovery.config.problems import Path, Problem, as_shown
from recovery.config.tree import Tree, canonical_json
from recovery.instances.draw import Setting
from recovery.types import Array, Index, Scalar
from recovery.user import fingerprint

AXES = "axes"
"""Beside the components: the axes of one's own that no field of the cell says."""
_TEXT_ORDER = sorted([*COMPONENTS, AXES, "seed"])
_EXAMPLES = {
    "n": "n: 100",
    "d": "d: 20",
    "data": "data: {ensemble: gaussian}",
    "planted": "planted: {kind: linear}",
    "architecture": "architecture: relu_skip",
    "method": "method: {kind: min_norm}",
}


@dataclass
class Composer:
    """Composes every cell of a sweep once, collecting the problems of all of them."""

    tree: Tree
    seed: int
    context: Context
    problems: list[Problem] = field(default_factory=list)
    built: dict[tuple[Any, ...], Built | None] = field(default_factory=dict)

    def cells(self, blocks: Sequence[Block]) -> SweepCells:
        """As columns. Two points with the same text are one cell, which has the coordinates of the first."""
        labels, tables = Labels(blocks), [self._points(block) for block in blocks]
        every = {name: joined(table.parts[name] for table in tables) for name in (*COMPONENTS, AXES)}
        kept, _ = distinct([column.map(lambda part: part.text).merged() for column in every.values()])
        block = np.repeat(np.arange(len(tables)), [len(table.row) for table in tables])[kept]
        row = np.concatenate([table.row for table in tables])[kept]

        def at(cell: int) -> dict[str, AxisValue]:
            return {path: column[row[cell]] for path, column in blocks[block[cell]].columns.items()}

        checks = Checks(self.tree, {name: column.take(kept) for name, column in every.items()}, at)
        fits = np.flatnonzero(checks.fits())
        parts = {name: column.take(fits) for name, column in checks.parts.items()}
        own = self._own(parts)
        costs = self._costs(checks, fits, own)
        self.problems += checks.problems
        coordinates = {
            name: of_one_type(joined(labels.column(name, table) for table in tables).take(kept[fits]))
            for name in labels.names
        }
        codes = {names: self.context.own.code(names, fingerprint) if names else "" for names in own.distinct}
        return SweepCells(
            coordinates=coordinates,
            costs=np.maximum(costs, LEAST_COST),
            own=own,
            methods=[part.value for part in parts["method"].distinct],
            codes=frozenset(filter(None, codes.values())),
            pieces=[
                *(_piece(name, parts[name]) for name in _TEXT_ORDER if name != "seed"),
                constant(f',"seed":{self.seed}}}', len(fits)),
            ],
            make=lambda number: self._cell(number, parts, coordinates, costs, own, codes),
        )

    def made(self, name: str) -> list[Built]:
        """Every component of this name that could be built."""
        return [part for (of, *_), part in self.built.items() if of == name and part is not None]

    def _points(self, block: Block) -> Points:
        """The points of a block that have no problem, with their validated components."""
        own, columns = own_axes(block.paths), block.columns
        self.problems += {
            fault.source: self.tree.problem(fault.source, fault.text) for fault in reversed(block.faults)
        }.values()
        parts = {}
        for name in COMPONENTS:
            inside = _overlay(block, name)
            offers = offered(self.tree, name, own, self.context.own)
            parts[name] = self._component(
                name,
                [(columns[path], at) for path, at in inside],
                {axis: columns[axis] for axis in offers},
                block.count,
            )
        # a component of a broken value is None; of an axis of one's own no component may ask for the value
        missing = [([part is None for part in column.values], column.codes) for column in parts.values()]
        missing += [([one.value is BROKEN for one in columns[axis].values], columns[axis].codes) for axis in own]
        whole = ~np.logical_or.reduce([np.array(values, np.bool_)[codes] for values, codes in missing])
        row = np.flatnonzero(whole)
        sound: dict[str, Any] = {name: column.take(row).map(lambda part: part) for name, column in parts.items()}
        sound[AXES] = self._free(block, row, sound)
        return Points(block, row, sound)

    def _component(
        self, name: str, inside: list[tuple[Coded[AxisValue], Path]], offers: dict[str, Coded[AxisValue]], count: int
    ) -> Coded[Built | None]:
        """A component at every point: each combination of what axes say of it is built once."""
        columns = [*(column for column, _ in inside), *offers.values()]
        if not columns:
            return constant(self._known(name, [], []), count)
        first, number = distinct(columns)
        made = [
            self._known(
                name,
                [(column[row], path) for column, path in inside],
                [(column[row], axis) for axis, column in offers.items()],
            )
            for row in first
        ]
        return Coded(made, number)

    def _known(
        self, name: str, overlays: list[tuple[AxisValue, Path]], offers: list[tuple[AxisValue, str]]
    ) -> Built | None:
        key = (name, *overlays, *offers)
        if key not in self.built:
            self.built[key] = self._build(name, overlays, offers)
        return self.built[key]

    def _free(self, block: Block, row: Index, parts: Mapping[str, Coded[Built]]) -> Coded[Built]:
        """The axes of one's own that no field of a cell says: two of their values that come to the same fields, as the
        same n after rounding, are two cells with draws of their own."""
        computed = {block.paths[one.position] for one in block.computed}
        axes = {axis: block.columns[axis].take(row) for axis in own_axes(block.paths) if axis not in computed}
        if not axes:
            return constant(_AS_SAID, len(row))
        choices = {name: parts[name] for name in CHOICES}
        first, number = distinct([*axes.values(), *choices.values()])
        made = []
        for at in first:
            free = {
                axis: column[at].value
                for axis, column in axes.items()
                if not any(takes(name, one[at].resolved, axis, self.context.own) for name, one in choices.items())
            }
            made.append(Built(free, None, free, free, canonical_json(free)) if free else _AS_SAID)
        return Coded(made, number).merged()

    def _own(self, parts: Mapping[str, Coded[Built]]) -> Coded[frozenset[str]]:
        """The user's code that each cell runs."""
        named = [parts[name].map(lambda part: part.own).merged() for name in COMPONENTS]
        first, number = distinct(named)
        return Coded([frozenset[str]().union(*(column[row] for column in named)) for row in first], number).merged()

    def _costs(self, checks: Checks, cells: Index, own: Coded[frozenset[str]]) -> Array:
        """What a trial of each costs. Of the user's code, another process may have told it."""
        costs = np.zeros(len(cells))
        runs_own = np.array([bool(names) for names in own.values], np.bool_)[own.codes]
        costs[~runs_own] = checks.costs(cells[~runs_own])
        if runs_own.any():
            asked = cells[runs_own]
            digest = _digest(checks.parts, asked)
            costs[runs_own] = self.context.own.costs(digest, len(asked), lambda: checks.costs(asked))
        return costs

    def _cell(
        self,
        number: int,
        parts: Mapping[str, Coded[Built]],
        coordinates: Mapping[str, Coded[Scalar]],
        costs: Array,
        own: Coded[frozenset[str]],
        codes: Mapping[frozenset[str], str],
    ) -> Cell:
        part = {name: column[number] for name, column in parts.items()}
        value = {name: one.value for name, one in part.items()}
        canonical: dict[str, Any] = {"seed": self.seed}
        canonical |= {name: one.identity for name, one in part.items() if not _is_unsaid(name, one)}
        texts = {name: one.text for name, one in part.items() if not _is_unsaid(name, one)} | {"seed": str(self.seed)}
        return Cell(
            setting=Setting(
                value["n"],
                value["d"],
                ensemble=value["data"],
                planted=value["planted"],
                noise=value["noise"],
                patterns=value["patterns"],
                noise_scale=value["noise_scale"],
            ),
            architecture=value["architecture"],
            method=value["method"],
            seed=self.seed,
            coordinates={name: column[number] for name, column in coordinates.items()},
            canonical=canonical,
            text="{" + ",".join(f'"{name}":{texts[name]}' for name in _TEXT_ORDER if name in texts) + "}",
            cost=float(costs[number]),
            own=own[number],
            code=codes[own[number]],
        )

    def _build(
        self, name: str, overlays: list[tuple[AxisValue, Path]], offers: list[tuple[AxisValue, str]]
    ) -> Built | None:
        """offers: axes of one's own, for a component that takes them."""
        if any(value.value is BROKEN for value, _ in overlays):
            return None
        base = self.tree.value.get(name, DEFAULTS.get(name))
        if name == "architecture" and base is None and not overlays and own_methods_alone(self.tree):
            return ABSENT
        if name not in self.tree.value and name not in DEFAULTS and not overlays:
            text = f"is missing; add `{_EXAMPLES[name]}`, or an axis"
            self.problems.append(Problem(self.tree.place(()), name, text))
            return None
        for value, path in overlays:
            base = overlaid(base, path, value.value)
        for value, axis in offers:
            if takes(name, base, axis, self.context.own):
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

    def _problem(self, name: str, overlays: list[tuple[AxisValue, Path]], fault: Fault) -> Problem:
        """A fault at the axis value that brought it, if one did."""
        for value, path in reversed(overlays):
            if fault.path[: len(path)] == path:
                if fault.path == path and fault.key:
                    return self.tree.problem(value.key, fault.text, key=True)
                at = (*value.source, *fault.path[len(path) :])
                return self.tree.problem(at, fault.text, key=fault.key, missing=fault.missing)
            if path[: len(fault.path)] == fault.path:
                return self.tree.problem(value.source, fault.text)
        return self.tree.problem((name, *fault.path), fault.text, key=fault.key, missing=fault.missing)


_AS_SAID = Built({}, None, {}, {}, "")
"""Where the fields of a cell say all of its axes."""


def _is_unsaid(name: str, part: Built) -> bool:
    """Whether it is no part of the canonical JSON."""
    return part is _AS_SAID or (name != AXES and is_left_out(name, part))


def _piece(name: str, column: Coded[Built]) -> Coded[str]:
    """What the canonical JSON of each cell has of a component; the seed ends it."""
    before = "{" if name == _TEXT_ORDER[0] else ","
    return column.map(lambda part: "" if _is_unsaid(name, part) else f'{before}"{name}":{part.text}').merged()


def _digest(parts: Mapping[str, Coded[Built]], cells: Index) -> str:
    """By which a process knows that another asked about these very cells."""
    digest = blake2b(str(len(cells)).encode(), digest_size=16)
    for name in COMPONENTS:
        texts = parts[name].take(cells).map(lambda part: part.text).merged()
        digest.update(json.dumps(texts.values).encode())
        if len(texts.values) > 1:
            digest.update(texts.codes.tobytes())
    return digest.hexdigest()


def _overlay(block: Block, name: str) -> list[tuple[str, Path]]:
    """The paths that lie in a component, and where in it; whole components come first."""
    inside = [(path, tuple(path.split(".")[1:])) for path in block.paths if path.partition(".")[0] == name]
    return sorted(inside, key=lambda item: (len(item[1]), item[1]))


def overlaid(base: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy of `base` with `value` at `path`."""
    if not path:
        return value
    inner = base if isinstance(base, dict) else {}
    return {**inner, path[0]: overlaid(inner.get(path[0]), path[1:], value)}
