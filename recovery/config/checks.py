"""Checks that grid cells are feasible (memory, data files, the methods' own conditions), and their estimated costs."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from recovery.config.components import Component
from recovery.config.points import Point
from recovery.config.tree import Path, Tree
from recovery.config.trials import Cell
from recovery.errors import DataError, ParameterError, RecoverError
from recovery.instances.files import File, FileColumn
from recovery.methods.method import measuring

MOST_BYTES = 2**40
"""Largest size of X, one TiB: the memory of the largest machines."""
MOST_PROBLEMS = 1000
"""Problems after which no further cells are checked: a message shows fewer."""
LEAST_COST = 1e-9
_CHECKED = ("architecture", "planted", "method")
_LAWS = ("data", "planted", "noise", "patterns", "noise_scale", "architecture", "method")

Parts = Mapping[str, Component]
Coordinates = Mapping[str, Any]


@dataclass
class Checks:
    """Checks grid cells one after the other; a problem of a cell is placed at one of the cell's axis values."""

    tree: Tree
    measures: frozenset[str]
    known: dict[tuple[Component | None, ...], Callable[[Coordinates], Any]] = field(default_factory=dict)
    """The components of a cell that decide its cost -> the function of its coordinates that gives the cost."""

    def cost(self, parts: Parts, point: Point, at: Coordinates) -> float:
        """Return the estimated seconds per trial of a cell; for one that cannot run, add a problem to the tree."""
        if len(self.tree.problems) < MOST_PROBLEMS and self._fits(parts, point):
            try:
                laws = tuple([parts.get(name) for name in _LAWS])
                if laws not in self.known:
                    self.known[laws] = _cost_function(parts, self.measures)
                cost = float(self.known[laws](at))
                if 0 <= cost < math.inf:
                    return max(cost, LEAST_COST)
                text = f"its cost is {cost}; a cost is a number of seconds, at least 0"
            except (Exception, SystemExit) as error:  # a method that is user code may raise anything
                own = isinstance(error, RecoverError)
                text = str(error) if own else f"its cost or check raises {type(error).__name__}: {error}"
            # the last axis value that the fault may be about
            involved = [value.source for path, value in point.items() if path.partition(".")[0] in _CHECKED]
            self.tree.report(involved[-1] if involved else ("method",), text)
        return LEAST_COST

    def _fits(self, parts: Parts, point: Point) -> bool:
        """Return whether X fits in memory, and a data file has enough rows and columns; if not, add a problem."""
        if "planted" not in parts:
            return True
        n, d, ensemble, law = (parts[name].value for name in ("n", "d", "data", "planted"))
        if 8 * n * d > MOST_BYTES:
            text = f"found n = {n} and d = {d}: X alone takes {8 * n * d / MOST_BYTES:.3g} TiB"
            self.tree.report(_source(point, "n"), f"{text}; at most 1 TiB are allowed")
            return False
        if isinstance(law, FileColumn):
            try:
                law.inputs(ensemble, d)
            except ParameterError as error:
                self.tree.report(("planted",), str(error))
                return False
        if not isinstance(ensemble, File):
            return True
        try:
            sizes = zip("nd", (n, d), ensemble.shape, ("rows", "columns"), strict=True)
        except DataError as error:  # a stored sweep's file has changed, or is gone
            self.tree.report(("data", "path"), str(error))
            return False
        beyond = [one for one in sizes if one[1] > one[2]]
        for name, size, most, what in beyond:
            self.tree.report(_source(point, name), f"found {name} = {size}, and {ensemble.path} has {most} {what}")
        return not beyond


def _source(point: Point, name: str) -> Path:
    return point[name].source if name in point else (name,)


def _cost_function(parts: Parts, measures: frozenset[str]) -> Callable[[Coordinates], Any]:
    cell = Cell(0, parts, {}, 0.0).imported
    method = measuring(cell.method, measures)
    check, of_setting = getattr(method, "check", None), getattr(method, "setting_cost", None)
    of_sizes: Callable[..., Any] = getattr(method, "cost", lambda *sizes: 1.0)
    if not cell.is_drawn:
        return of_sizes
    if not (check or of_setting):
        return lambda at: of_sizes(at["n"], at["d"])

    def cost(at: Coordinates) -> Any:
        setting = replace(cell.setting, n=at["n"], d=at["d"])
        if check:
            check(setting, cell.architecture)
        return of_setting(setting) if of_setting else of_sizes(at["n"], at["d"])

    return cost
