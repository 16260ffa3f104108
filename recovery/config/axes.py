"""The axes of a sweep: which values of which fields, and which combinations of them; docs/configs.md has a table."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from keyword import kwlist
from typing import Any

from recovery.config.components import COMPONENTS, NO_DATA, UNDRAWN, Choice, user_code_in
from recovery.config.header import HEADER
from recovery.config.points import BROKEN, FACTOR, SIZES, AxisValue, Block, Computed, Point
from recovery.config.tree import ConfigError, Path, Tree, as_shown, value_at
from recovery.config.validate import build
from recovery.config.values import Times, listed
from recovery.expressions import CONSTANTS, FUNCTIONS, Expression, ExpressionError, parse as parse_expression
from recovery.methods.columns import RESERVED, TALLIED, Columns
from recovery.text import did_you_mean

ZIP = "zip"
MOST_POINTS = 200_000
MOST_LISTED = 20
"""A message that suggests a key lists the allowed keys only up to this number."""
TAKEN = frozenset({*HEADER, *RESERVED, *TALLIED, *CONSTANTS, *FUNCTIONS, *kwlist, FACTOR})
"""Words with another meaning, which cannot name an axis."""


def all_paths() -> list[str]:
    """Return every path that a config may have inside its science fields."""
    return [*COMPONENTS, *(f"{name}.{key}" for name, kind in COMPONENTS.items() for key in kind.keys)]


def path_fault(path: str, tree: Tree, used: Collection[str] = ()) -> str | None:
    """Return why `path` cannot be an axis of the config, or None if it can. used: the names that expressions use."""
    root, _, rest = path.partition(".")
    undrawn = tree.value.get("data") == NO_DATA
    if is_user_axis(path) and (path in used or undrawn):
        if path in TAKEN:
            return f"is a name of the program's own; choose another{did_you_mean(path, all_paths())}"
        return None
    fields = [name for name in UNDRAWN if name != "data"] if undrawn else [*COMPONENTS]
    if root not in fields:
        others = "any other word, because of `data: none`" if undrawn else "names that expressions use"
        if not undrawn and user_code_in({"method": tree.value.get("method")}):
            others += "; with `data: none`, any word"
        hint = did_you_mean(path, fields if undrawn else all_paths())
        return f"is no field that can be an axis; allowed: {', '.join(fields)}, what is in them, and {others}{hint}"
    kind = COMPONENTS[root]
    may_be_user = isinstance(kind, Choice) and bool(user_code_in(tree.value))
    if rest and rest.split(".")[0] not in kind.keys and not may_be_user:
        hint = did_you_mean(path, all_paths())
        if hint and len(kind.keys) > MOST_LISTED:
            return f"is no field of {root}{hint}"
        allowed = ", ".join(f"{root}.{key}" for key in kind.keys) or f"{root} alone, which is one value"
        return f"is no field of {root}; allowed: {allowed}{hint}"
    return None


def parse(tree: Tree) -> list[Block]:
    """Return the blocks under `axes`, one block without axes if there are none; their errors go to the tree."""
    return [_BlockReader(tree, path, spec).block() for path, spec in tree.axis_blocks()]


class _BlockReader:
    """Reads one block of axes."""

    def __init__(self, tree: Tree, path: Path, spec: Any) -> None:
        self.tree, self.path = tree, path
        self.spec: dict[str, Any] = spec if isinstance(spec, dict) else {}
        if not isinstance(spec, dict):
            self._found(path, spec, "a mapping of paths to values, or a list of such mappings")
        self.paths: list[str] = []
        self.dimensions: list[tuple[Point, ...]] = []
        self.times: dict[str, str] = {}
        self.expressions: dict[str, Expression] = {}
        self.used: set[str] = set()

    def block(self) -> Block:
        """Read the block; its errors go to the tree."""
        axes = {name: spec for name, spec in self.spec.items() if name != ZIP}
        for name, spec in axes.items():
            if isinstance(spec, str):
                self._expression(name, spec)
        for name, spec in axes.items():
            if not isinstance(spec, str):
                self._axis(name, spec)
        groups = self.spec.get(ZIP, [])
        if not isinstance(groups, list):
            self._found((*self.path, ZIP), groups, "a list of groups, such as [{n: [10, 20], d: [5, 9]}]")
            groups = []
        for i, group in enumerate(groups):
            if isinstance(group, dict) and group:
                self._zip((*self.path, ZIP, i), group)
            else:
                self._found((*self.path, ZIP, i), group, "a mapping of paths to lists of one length")
        computed = self._computed()
        block = Block(tuple(self.paths), tuple(self.dimensions), computed)
        if block.count > MOST_POINTS:
            self.tree.report(self.path, f"more than {MOST_POINTS} points; coarsen an axis or split the sweep")
            block = Block(block.paths, tuple(rows[:1] for rows in self.dimensions), computed)
        return block

    def _expression(self, name: str, text: str) -> None:
        """Parse the expression of a computed axis, as in `n: delta * d`."""
        try:
            self.expressions[name] = parse_expression(text)
            self.used |= {*self.expressions[name].names, name}
        except ExpressionError as error:
            python = re.fullmatch(r"\s*range\(\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*", text)
            step = f", step: {python[3]}" if python and python[3] else ""
            hint = f"did you mean {{start: {python[1]}, stop: {python[2]}{step}}}?" if python else ""
            at = (*self.path, name)
            self.tree.report(at, f"{error}; {hint or f'values are a list: [{text}]'}")
            self.used.add(name)
            self._add({name: [AxisValue(BROKEN, at, at)]}, self.path)

    def _axis(self, name: str, spec: Any) -> None:
        at = (*self.path, name)
        if isinstance(spec, int | float) and not isinstance(spec, bool):
            self._add({name: [AxisValue(spec, at, at)]}, self.path)
        elif not (isinstance(spec, dict) and "times" in spec):
            self._add({name: self._values(at, partial(listed, spec))}, self.path)
        elif (name in SIZES and spec["times"] != name) or spec["times"] not in SIZES:
            values = self._values(at, lambda: build(Times, spec).factors())
            if values[0].value is not BROKEN:
                self.times[name] = spec["times"]
            self._add({name: values}, self.path)
        else:
            text = "multiples are for n and d: `n: {times: d, ...}` or `d: {times: n, ...}`, found "
            other = "d" if name == "n" else "n"
            self.tree.report(at, f"{text}{name!r} as a multiple of {spec['times']!r}; did you mean {other!r}?")

    def _zip(self, at: Path, group: dict[str, Any]) -> None:
        columns = {
            name: self._values((*at, name), partial(listed, spec, distinct=False)) for name, spec in group.items()
        }
        lengths = {name: len(values) for name, values in columns.items() if values[0].value is not BROKEN}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            self.tree.report(at, f"zipped axes need equally many values: {counts}")
        self._add(columns, at)

    def _add(self, columns: Mapping[str, Sequence[AxisValue]], at: Path) -> None:
        """Add a dimension: the values of one axis, or of axes that advance together, unless it cannot be an axis."""
        columns = {name: values for name, values in columns.items() if self._claim(name, (*at, name))}
        if columns:
            rows = zip(*columns.values(), strict=False)
            self.dimensions.append(tuple(dict(zip(columns, row, strict=True)) for row in rows))

    def _claim(self, name: str, at: Path) -> bool:
        """Add an axis name to the block's paths if it can be an axis; if not, add a problem and return False."""
        text = path_fault(name, self.tree, self.used)
        if name in self.paths:
            text = "is an axis of this block already"
        if text:
            self.tree.report(at, text, key=True)
            return False
        self.paths.append(name)
        return True

    def _computed(self) -> tuple[Computed, ...]:
        """Return the axes that expressions or multiples compute, each after the axes that it uses."""
        claimed = {name: one for name, one in self.expressions.items() if self._claim(name, (*self.path, name))}
        computed: dict[str, Computed] = {}
        problems = len(self.tree.problems)
        if len(self.times) > 1:
            name, base = next(iter(self.times.items()))
            text = f"{base!r} is a multiple too; give one of them values"
            self.tree.report((*self.path, name, "times"), text)
        for name, base in self.times.items():
            given, axes = ({}, {base: base}) if base in self.paths else ({base: self._given(base) or 1}, {})
            expression = parse_expression(f"{FACTOR} * {base}")
            computed[name] = Computed(name, expression, given, {FACTOR: name, **axes}, (*self.path, name))
        for name, expression in claimed.items():
            at, others = (*self.path, name), [used for used in expression.names if used not in self.paths]
            numbers = {used: value for used in others if (value := self._given(used)) is not None}
            if unknown := [used for used in others if used not in numbers]:
                known = [*self.paths, *(size for size in SIZES if self._given(size) is not None)]
                hint = did_you_mean(unknown[0], known) or f"; values are a list: [{self.spec[name]}]"
                text = f"{expression.text!r} uses {unknown[0]!r}, which is neither an axis nor a number"
                self.tree.report(at, f"{text}: the axes here are {', '.join(known)}{hint}")
                continue
            axes = {used: used for used in expression.names if used not in numbers}
            computed[name] = Computed(name, expression, numbers, axes, at)
        order = TopologicalSorter({name: set(one.axes) - {FACTOR} for name, one in computed.items()})
        try:
            ordered = tuple(computed[name] for name in order.static_order() if name in computed)
        except CycleError as error:
            circle = error.args[1]
            text = f"is computed from itself: {' -> '.join(circle)}; give one of them values"
            if len(self.times) < 2:
                self.tree.report((*self.path, circle[0]), text)
        if len(self.tree.problems) == problems:
            return ordered
        self.dimensions.append(({name: AxisValue(BROKEN, (), ()) for name in (*claimed, *self.times)},))
        return ()

    def _given(self, path: str) -> int | float | None:
        """Return the value that the config has at a path if it is a number; otherwise None."""
        value = value_at(self.tree.value, path)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _values(self, at: Path, read: Callable[[], list[tuple[Any, Path]]]) -> list[AxisValue]:
        """Return the values that `read` returns, with their places; one BROKEN value if it raises `ConfigError`."""
        try:
            return [AxisValue(value, (*at, *inner), at) for value, inner in read()]
        except ConfigError as error:
            self.tree.adopt(error, at)
            return [AxisValue(BROKEN, at, at)]

    def _found(self, path: Path, value: object, allowed: str) -> None:
        self.tree.report(path, f"found {as_shown(value)}; allowed: {allowed}")


def is_user_axis(path: str) -> bool:
    """Return whether a path is a word that is no science field."""
    return re.fullmatch(r"[A-Za-z_]\w*", path) is not None and path not in COMPONENTS


def report_user_axes(tree: Tree, blocks: Sequence[Block], columns: Columns) -> None:
    """Add a problem to the tree for each user axis that has the name of a measured column."""
    for (at, _), block in zip(tree.axis_blocks(), blocks, strict=True):
        for axis in block.paths:
            if is_user_axis(axis) and axis in columns:
                tree.report((*at, axis), "is the name of a measured column; choose another", key=True)
