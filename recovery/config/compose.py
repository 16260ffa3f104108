"""From a tree to cells: each point of the axes laid over the config's own fields, validated, and given its text."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from recovery.config.build import Fault, Invalid
from recovery.config.components import ABSENT, COMPONENTS, DEFAULTS, Built, Context, Single, is_left_out
from recovery.config.labels import Labels, of_one_type
from recovery.config.own import OwnCode
from recovery.config.own_axes import CHOICES, offered, own_axes, own_methods_alone, takes
from recovery.config.points import BROKEN, AxisValue, Block, Point, Unworkable
from recovery.config.problems import Path, Problem, as_shown
from recovery.config.sweep import Cell
from recovery.config.tree import Tree, canonical_json
from recovery.errors import ParameterError, RecoverError
from recovery.instances.draw import Setting
from recovery.instances.files import File
from recovery.instances.recorded import FileColumn
from recovery.user import fingerprint

_TEXT_ORDER = sorted([*COMPONENTS, "seed", "axes"])
_CHECKED = ("architecture", "planted", "method")
MOST_BYTES = 2**40
"""Of X: the memory of the largest machines."""
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

    def cells(self, blocks: Sequence[Block]) -> tuple[Cell, ...]:
        labels = Labels(blocks)
        cells: dict[str, Cell] = {}
        for block in blocks:
            for point, parts in self._parts(block):
                free = _free(block, point, parts, self.context.own)
                text = self._text(parts, free)
                if text not in cells:
                    cell = self._cell(parts, labels.coordinates(block, point, parts), text, free)
                    cells[text] = self._asked(block, point, cell)
        coordinates = of_one_type([cell.coordinates for cell in cells.values()])
        return tuple(
            cell if own is cell.coordinates else replace(cell, coordinates=own)
            for cell, own in zip(cells.values(), coordinates, strict=True)
        )

    def _parts(self, block: Block) -> Iterator[tuple[Point, dict[str, Built]]]:
        """The validated components of every point that has no problem."""
        overlays = {name: _overlay(block, name) for name in COMPONENTS}
        free = own_axes(block.paths)
        own = {
            name: [(block.paths.index(one), one) for one in offered(self.tree, name, free, self.context.own)]
            for name in COMPONENTS
        }
        for point in self._points(block):
            parts = {}
            for name, positions in overlays.items():
                key = (name, *[point[i] for i, _ in [*positions, *own[name]]], *[path for _, path in positions])
                if key not in self.built:
                    offers = [(point[i], axis) for i, axis in own[name]]
                    self.built[key] = self._build(name, [(point[i], path) for i, path in positions], offers)
                parts[name] = self.built[key]
            if None not in parts.values():
                whole = {name: part for name, part in parts.items() if part is not None}
                if self._has_room(block, point, whole):
                    yield point, whole

    def _points(self, block: Block) -> Iterator[Point]:
        try:
            yield from block.points()
        except Unworkable as error:
            self.problems.append(self.tree.problem(error.source, error.text))

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

    def _has_room(self, block: Block, point: Point, parts: dict[str, Built]) -> bool:
        """Whether memory can hold X, and a file has as many rows and columns as the cell asks for."""
        bytes_ = 8 * parts["n"].value * parts["d"].value
        if bytes_ > MOST_BYTES:
            at = next((value.source for path, value in zip(block.paths, point, strict=True) if path == "n"), ("n",))
            text = f"found n = {parts['n'].value} and d = {parts['d'].value}: X alone takes {in_bytes(bytes_)}"
            self.problems.append(self.tree.problem(at, f"{text}; at most {in_bytes(MOST_BYTES)} are allowed"))
            return False
        ensemble, law = parts["data"].value, parts["planted"].value
        if isinstance(law, FileColumn):
            try:
                law.inputs(ensemble, parts["d"].value)
            except ParameterError as error:
                self.problems.append(self.tree.problem(("planted",), str(error)))
                return False
        if not isinstance(ensemble, File):
            return True
        fits = True
        for name, most, what in zip(("n", "d"), ensemble.shape, ("rows", "columns"), strict=True):
            size = parts[name].value
            if size > most:
                at = point[block.paths.index(name)].source if name in block.paths else (name,)
                text = f"found {name} = {size}, and {ensemble.path} has {most} {what}"
                self.problems.append(self.tree.problem(at, text))
                fits = False
        return fits

    def _asked(self, block: Block, point: Point, cell: Cell) -> Cell:
        """The cell with its cost, and with the hash of the user's code if it runs any."""
        if not cell.own:
            return replace(cell, cost=self._cost(block, point, cell))
        cost = self.context.own.cost(cell.text, lambda: self._cost(block, point, cell))
        return replace(cell, cost=cost, code=self.context.own.code(cell.own, fingerprint))

    def _cost(self, block: Block, point: Point, cell: Cell) -> float:
        """Ask the method whether it can measure anything of the cell, and for its cost; its fault is placed at an axis
        value if any."""
        try:
            return checked_cost(cell)
        except (Exception, SystemExit) as caught:
            error: Exception = RecoverError(f"its cost or check raises {type(caught).__name__}: {caught}")
            if isinstance(caught, RecoverError):
                error = caught
            involved = [value.source for path, value in zip(block.paths, point, strict=True) if _root(path) in _CHECKED]
            self.problems.append(self.tree.problem(involved[-1] if involved else ("method",), str(error)))
            return 0.0

    def _text(self, parts: dict[str, Built], free: dict[str, Any]) -> str:
        """The canonical JSON of the cell, put together from that of its components."""
        texts = {name: part.text for name, part in parts.items() if not is_left_out(name, part)}
        texts["seed"] = str(self.seed)
        if free:
            texts["axes"] = canonical_json(free)
        return "{" + ",".join(f'"{name}":{texts[name]}' for name in _TEXT_ORDER if name in texts) + "}"

    def _cell(self, parts: dict[str, Built], coordinates: dict[str, Any], text: str, free: dict[str, Any]) -> Cell:
        value = {name: part.value for name, part in parts.items()}
        setting = Setting(
            n=value["n"],
            d=value["d"],
            ensemble=value["data"],
            planted=value["planted"],
            noise=value["noise"],
            patterns=value["patterns"],
            noise_scale=value["noise_scale"],
        )
        canonical: dict[str, Any] = {"seed": self.seed}
        canonical |= {name: part.identity for name, part in parts.items() if not is_left_out(name, part)}
        canonical |= {"axes": free} if free else {}
        own = frozenset[str]().union(*(part.own for part in parts.values()))
        return Cell(
            setting=setting,
            architecture=value["architecture"],
            method=value["method"],
            seed=self.seed,
            coordinates=coordinates,
            canonical=canonical,
            text=text,
            cost=0.0,
            own=own,
        )


def checked_cost(cell: Cell) -> float:
    """Seconds, as the method guesses them. Raises what the method or the user's code raises, and `ParameterError`."""
    cell = cell.imported
    method, setting = cell.method, cell.setting
    if check := getattr(method, "check", None):
        check(setting, cell.architecture)
    of_setting = getattr(method, "setting_cost", None)
    cost = float(of_setting(setting) if of_setting else method.cost(setting.n, setting.d))
    if not 0 <= cost < math.inf:
        raise ParameterError(f"its cost is {cost}; a cost is a number of seconds, at least 0")
    return cost


def _overlay(block: Block, name: str) -> list[tuple[int, Path]]:
    """Positions of the paths that lie in a component, and where in it; whole components come first."""
    inside = [
        (position, tuple(path.split(".")[1:])) for position, path in enumerate(block.paths) if _root(path) == name
    ]
    return sorted(inside, key=lambda item: (len(item[1]), item[1]))


def _free(block: Block, point: Point, parts: dict[str, Built], own: OwnCode) -> dict[str, Any]:
    """The axes of one's own that no field of the cell says: two of their values that come to the same fields, as the
    same n after rounding, are two cells with draws of their own."""
    computed = {one.position for one in block.computed}
    return {
        axis: point[at].value
        for axis in own_axes(block.paths)
        if (at := block.paths.index(axis)) not in computed
        and not any(takes(name, parts[name].resolved, axis, own) for name in CHOICES)
    }


def in_bytes(count: float) -> str:
    """As 320 B, 1.5 MiB, 36.4 TiB."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min(int(math.log2(max(count, 1)) // 10), len(units) - 1)
    return f"{count / 1024**power:.3g} {units[power]}"


def _root(path: str) -> str:
    return path.partition(".")[0]


def overlaid(base: Any, path: Sequence[str | int], value: Any) -> Any:
    """A copy of `base` with `value` at `path`."""
    if not path:
        return value
    inner = base if isinstance(base, dict) else {}
    return {**inner, path[0]: overlaid(inner.get(path[0]), path[1:], value)}
