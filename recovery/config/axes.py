"""The axes of a sweep: which values of which fields, and which combinations of them.

    axes:
      n: {start: 10, stop: 400, step: 10}                     # a range; stop is included where it is met
      noise: {logspace: {start: 1e-3, stop: 1, count: 7}}     # equal ratios; the ends are values, not exponents
      data.ensemble: [gaussian, haar]                         # a list; any dotted path of the science fields
      planted: [{kind: linear}, {kind: relu, k: 2}]           # whole mappings are values too
      zip:                                                    # several paths that advance together: one axis a group
        - {architecture: [relu, relu_norm], planted.kind: [relu, normalized_relu]}
      include: [{data.ensemble: haar}, {noise: [0.001, 1]}]   # keep a point that agrees with at least one of these
      exclude: [{data.ensemble: haar, d: 100}]                # then drop every point that agrees with one of these

Instead of `n: [...]`, `n: {times: d, values: [1.5, 2, 2.5]}` takes multiples of d, rounded to the nearest integer,
halves up, at least 1 (and `d` likewise multiples of n). A list of such blocks is their union; a point that several
blocks have counts once. Axes need not be named before they are used: a path that the config sets too takes the
axis's values.

      delta: {start: 0.1, stop: 0.9, step: 0.1}               # an axis of one's own, used in expressions, or passed to
      n: delta * d                                            # one's own method, planted model or ensemble by its name
      planted.k: round(rho * n)                               # an axis that is computed from others, exactly

n and d are rounded as multiples are, and so is a field that holds integers; `floor(...)` and `ceil(...)` say otherwise.
"""

from collections.abc import Collection
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Any

from recovery.config.build import Invalid, build
from recovery.config.components import COMPONENTS, Choice
from recovery.config.own_axes import TAKEN, has_own_code, is_own
from recovery.config.points import BROKEN, SIZES, Agreement, AxisValue, Block, Computed, Inputs, Point
from recovery.config.problems import Path, Problem, as_shown
from recovery.config.tree import Tree
from recovery.config.values import Times, listed, same_as
from recovery.expressions import Expression, ExpressionError
from recovery.expressions import parse as parse_expression
from recovery.text import did_you_mean


def all_paths() -> list[str]:
    """Every path that some config may have below its science fields."""
    return [*COMPONENTS, *(f"{name}.{key}" for name, kind in COMPONENTS.items() for key in kind.keys)]


def path_fault(path: str, tree: Tree, used: Collection[str] = ()) -> str | None:
    """Why `path` cannot be an axis, or None if it can. used: the names in expressions."""
    root, _, rest = path.partition(".")
    open_ = has_own_code(tree)
    if is_own(path) and (path in used or open_):
        if path in TAKEN:
            return f"is a name of the program's own; choose another{did_you_mean(path, all_paths())}"
        return None
    if root not in COMPONENTS:
        allowed = f"{', '.join(COMPONENTS)} and what is in them"
        return f"is no field that can be an axis; allowed: {allowed}{did_you_mean(path, all_paths())}"
    keys = COMPONENTS[root].keys if rest else ()
    if rest and rest.split(".")[0] not in keys and not (open_ and _may_be_own(root)):
        allowed = ", ".join(f"{root}.{key}" for key in keys) or f"{root} alone, which is one value"
        return f"is no field of {root}; allowed: {allowed}{did_you_mean(path, all_paths())}"
    return None


def _may_be_own(root: str) -> bool:
    kind = COMPONENTS[root]
    return isinstance(kind, Choice) and kind.user is not None


RESERVED = ("zip", "include", "exclude")
MOST_POINTS = 1_000_000


def parse(tree: Tree) -> tuple[list[Block], list[Problem]]:
    """The blocks under `axes` (one without any axis if there are none), and what is wrong with them."""
    spec = tree.value.get("axes", {})
    if isinstance(spec, list) and spec:
        readers = [_Reader(tree, ("axes", i), block) for i, block in enumerate(spec)]
    else:
        readers = [_Reader(tree, ("axes",), spec)]
    blocks = [reader.block() for reader in readers]
    return blocks, [problem for reader in readers for problem in reader.problems]


class _Reader:
    """Reads one block."""

    def __init__(self, tree: Tree, path: Path, spec: Any) -> None:
        self.tree, self.path, self.problems = tree, path, list[Problem]()
        self.spec: dict[str, Any] = spec if isinstance(spec, dict) else {}
        if not isinstance(spec, dict):
            self._problem(
                path, f"found {as_shown(spec)}; allowed: a mapping of paths to values, or a list of such mappings"
            )
        self.paths: list[str] = []
        self.dimensions: list[tuple[Point, ...]] = []
        self.times: dict[str, Times] = {}
        self.expressions: dict[str, Expression] = {}
        self.used: set[str] = set()

    def block(self) -> Block:
        names = [name for name in self.spec if name not in RESERVED]
        for name in names:
            if isinstance(self.spec[name], str):
                self._expression(name)
        for name in names:
            if not isinstance(self.spec[name], str):
                self._axis(name)
        self._zip()
        computed = self._computed()
        include, exclude = self._conditions("include"), self._conditions("exclude")
        if prod(len(rows) for rows in self.dimensions) > MOST_POINTS:
            self._problem(self.path, f"more than {MOST_POINTS} points; coarsen an axis or split the sweep")
            self.dimensions = [rows[:1] for rows in self.dimensions]
        block = Block(tuple(self.paths), tuple(self.dimensions), computed, include, exclude)
        if not self.problems and not block.count:
            at = (*self.path, "include" if include else "exclude")
            self._problem(at, "leaves no point of this block; loosen it")
        return block

    def _expression(self, name: str) -> None:
        """Read an axis that is computed: `n: delta * d`."""
        at, text = (*self.path, name), self.spec[name]
        try:
            self.expressions[name] = parse_expression(text)
            self.used |= {*self.expressions[name].names, name}
        except ExpressionError as error:
            self._problem(at, f"{error}; values are a list: [{text}]")

    def _axis(self, name: str) -> None:
        at = (*self.path, name)
        spec = self.spec[name]
        try:
            if isinstance(spec, dict) and "times" in spec:
                times: Times = build(Times, spec)
                values = times.factors()
                if name not in ("n", "d") or times.times == name:
                    other = "d" if name == "n" else "n"
                    self._problem(
                        at,
                        f"multiples are for n and d: `n: {{times: d, ...}}` or `d: {{times: n, ...}}`, "
                        f"found {name!r} as a multiple of {times.times!r}; did you mean {other!r}?",
                    )
                    return
                self.times[name] = times
            elif isinstance(spec, int | float) and not isinstance(spec, bool):
                values = [(spec, ())]
            else:
                values = listed(spec)
        except Invalid as error:
            self._faults(at, error)
            values = [(BROKEN, ())]
        if self._claim(name, at):
            self.dimensions.append(tuple((AxisValue(value, (*at, *inner), at),) for value, inner in values))

    def _zip(self) -> None:
        at = (*self.path, "zip")
        groups = self.spec.get("zip", [])
        if not isinstance(groups, list):
            self._problem(
                at, f"found {as_shown(groups)}; allowed: a list of groups, such as [{{n: [10, 20], d: [5, 9]}}]"
            )
            return
        for i, group in enumerate(groups):
            if not isinstance(group, dict) or not group:
                self._problem((*at, i), f"found {as_shown(group)}; allowed: a mapping of paths to lists of one length")
                continue
            columns = {name: self._zipped((*at, i, name), spec) for name, spec in group.items()}
            lengths = {name: len(values) for name, values in columns.items() if values[0].value is not BROKEN}
            if len(set(lengths.values())) > 1:
                counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                self._problem((*at, i), f"zipped axes need equally many values: {counts}")
            claimed = {name: values for name, values in columns.items() if self._claim(name, (*at, i, name))}
            if claimed:
                self.dimensions.append(tuple(zip(*claimed.values(), strict=False)))

    def _zipped(self, at: Path, spec: Any) -> list[AxisValue]:
        try:
            return [AxisValue(value, (*at, *inner), at) for value, inner in _together(spec)]
        except Invalid as error:
            self._faults(at, error)
            return [AxisValue(BROKEN, at, at)]

    def _claim(self, name: str, at: Path) -> bool:
        """Take a path for an axis, if it is one that can be."""
        text = path_fault(name, self.tree, self.used)
        if name in self.paths:
            text = "is an axis of this block already"
        if text:
            self.problems.append(self.tree.problem(at, text, key=True))
            return False
        self.paths.append(name)
        return True

    def _computed(self) -> tuple[Computed, ...]:
        """The axes that others give: multiples, and expressions; each after those that it uses."""
        computed: dict[str, Computed] = {}
        own = {name: one for name, one in self.expressions.items() if self._claim(name, (*self.path, name))}
        for name, times in self.times.items():
            at, base = (*self.path, name), times.times
            if base in self.times:
                self._problem((*at, "times"), f"{base!r} is a multiple too; give one of them values")
                return ()
            inputs: Inputs = (("factor", self.paths.index(name), 0), (base, *self._input(base)))
            product = parse_expression(f"factor * {base}")
            computed[name] = Computed(self.paths.index(name), product, inputs, at, at, True)
        for name, expression in own.items():
            at = (*self.path, name)
            for used in expression.names:
                if used not in self.paths and self._given(used) is None:
                    known = [*self.paths, *(size for size in SIZES if self._given(size) is not None)]
                    there = f"the axes here are {', '.join(known)}"
                    hint = did_you_mean(used, known) or f"; values are a list: [{self.spec[name]}]"
                    text = f"{expression.text!r} uses {used!r}, which is neither an axis nor a number"
                    self._problem(at, f"{text}: {there}{hint}")
                    return ()
            inputs = tuple((used, *self._input(used)) for used in expression.names)
            computed[name] = Computed(self.paths.index(name), expression, inputs, at, at, name in SIZES)
        order = TopologicalSorter({name: {used for used, _, _ in one.inputs} for name, one in computed.items()})
        try:
            return tuple(computed[name] for name in order.static_order() if name in computed)
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            self._problem((*self.path, error.args[1][0]), f"is computed from itself: {circle}; give one of them values")
            return ()

    def _input(self, name: str) -> tuple[int | None, int | float]:
        """Where a name of an expression has its value: a position in the point, or a number of the config."""
        if name in self.paths:
            return self.paths.index(name), 0
        value = self._given(name)
        return None, 1 if value is None else value

    def _given(self, path: str) -> int | float | None:
        value: Any = self.tree.value
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def _conditions(self, name: str) -> tuple[Agreement, ...]:
        at = (*self.path, name)
        entries = self.spec.get(name, [])
        if not isinstance(entries, list):
            self._problem(at, f"found {as_shown(entries)}; allowed: a list of partial points, such as [{{n: 10}}]")
            return ()
        conditions = []
        for i, entry in enumerate(entries):
            if not isinstance(entry, dict) or not entry:
                self._problem((*at, i), f"found {as_shown(entry)}; allowed: a partial point, such as {{n: 10}}")
                continue
            agreements = [self._agreement((*at, i), path, wanted) for path, wanted in entry.items()]
            if None not in agreements:
                conditions.append(tuple(item for item in agreements if item is not None))
        return tuple(conditions)

    def _agreement(self, at: Path, name: str, wanted: Any) -> tuple[int, frozenset[object]] | None:
        if name not in self.paths:
            text = f"is no axis of this block; its axes are {', '.join(self.paths)}{did_you_mean(name, self.paths)}"
            self.problems.append(self.tree.problem((*at, name), text, key=True))
            return None
        try:
            values = listed(wanted) if isinstance(wanted, list) or _is_range(wanted) else [(wanted, ())]
        except Invalid as error:
            self._faults((*at, name), error)
            return None
        position = self.paths.index(name)
        if name not in self.times and name not in self.expressions:
            column = Block(tuple(self.paths), tuple(self.dimensions)).column(position)
            present = {same_as(value.value) for value in column}
            for value, inner in values:
                if same_as(value) not in present and column[0].value is not BROKEN:
                    self._problem((*at, name, *inner), f"found {as_shown(value)}, which is no value of the axis {name}")
        return position, frozenset(same_as(value) for value, _ in values)

    def _problem(self, path: Path, text: str) -> None:
        self.problems.append(self.tree.problem(path, text))

    def _faults(self, at: Path, error: Invalid) -> None:
        self.problems.extend(self.tree.problem((*at, *f.path), f.text, key=f.key) for f in error.faults)


def _is_range(spec: object) -> bool:
    return isinstance(spec, dict) and bool({"start", "stop", "step", "logspace"} & set(spec))


def _together(spec: object) -> list[tuple[Any, Path]]:
    """The values of a zipped axis; unlike those of a free one they may repeat."""
    if isinstance(spec, list) and spec:
        return [(value, (i,)) for i, value in enumerate(spec)]
    return listed(spec)
