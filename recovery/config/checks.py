"""Checks that grid cells are feasible (memory, data files, the methods' own conditions), and their estimated costs."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recovery.config.categorical import CategoricalColumn, distinct
from recovery.config.components import Component, imported
from recovery.config.points import AxisValue
from recovery.config.tree import Path, Problem, Tree
from recovery.errors import ParameterError, RecoverError
from recovery.instances.draw import Setting
from recovery.instances.files import File, FileColumn
from recovery.types import Array, Index, Mask
from recovery.user import resolve

MOST_BYTES = 2**40
"""Largest size of X: the memory of the largest machines."""
MOST_FAULTS = 1000
"""Cells with one kind of fault, after which the search for more stops: a message shows about 20."""
_CHECKED = ("architecture", "planted", "method")


@dataclass
class Checks:
    """Checks of the cells whose components are `parts`; `axes_at` returns the axis values of a cell."""

    tree: Tree
    parts: Mapping[str, CategoricalColumn[Component]]
    axes_at: Callable[[int], Mapping[str, AxisValue]]
    problems: list[Problem] = field(default_factory=list)

    def fits(self) -> Mask:
        """Return whether each X fits in memory, and each data file has enough rows and columns."""
        n, d = (
            np.array([min(part.value, MOST_BYTES) for part in column.values], np.float64)[column.codes]
            for column in (self.parts["n"], self.parts["d"])
        )
        fits: Mask = 8 * n * d <= MOST_BYTES
        for cell in np.flatnonzero(~fits)[:MOST_FAULTS]:
            rows, columns = self._value(cell, "n"), self._value(cell, "d")
            text = f"found n = {rows} and d = {columns}: X alone takes {in_bytes(8 * rows * columns)}"
            self._problem(self._source(cell, "n"), f"{text}; at most {in_bytes(MOST_BYTES)} are allowed")
        drawn = [self.parts[name] for name in ("n", "d", "data", "planted")]
        if any(isinstance(part.value, File | FileColumn) for column in drawn[2:] for part in column.values):
            first, number = distinct(drawn)
            fits &= np.array([self._is_in_file(cell) for cell in first], np.bool_)[number]
        return fits

    def _is_in_file(self, cell: int) -> bool:
        ensemble, law = self._value(cell, "data"), self._value(cell, "planted")
        if isinstance(law, FileColumn):
            try:
                law.inputs(ensemble, self._value(cell, "d"))
            except ParameterError as error:
                self._problem(("planted",), str(error))
                return False
        if not isinstance(ensemble, File):
            return True
        fits = True
        for name, most, what in zip(("n", "d"), ensemble.shape, ("rows", "columns"), strict=True):
            if (size := self._value(cell, name)) > most:
                self._problem(self._source(cell, name), f"found {name} = {size}, and {ensemble.path} has {most} {what}")
                fits = False
        return fits

    def costs(self, cells: Index) -> Array:
        """Return the estimated seconds per trial of each cell; 0 if the method or user code refuses the cell."""
        costs = np.zeros(len(cells))
        laws = [column.take(cells) for name, column in self.parts.items() if name not in ("n", "d")]
        first, law = distinct(laws)
        groups = np.split(np.argsort(law, kind="stable"), np.cumsum(np.bincount(law))[:-1])
        for representative, places in zip(first, groups[: len(first)], strict=True):
            costs[places] = self._group_costs(cells[representative], cells[places])
        return costs

    def _group_costs(self, first: int, cells: Index) -> Array:
        """Return the costs of cells that differ in n and d only; 0 where there is none, which is a problem."""
        sizes = [self.parts[name].take(cells).map(lambda part: part.value) for name in "nd"]
        try:
            cost = self._cost_function(first)
        except (Exception, SystemExit) as error:
            for cell in cells[:MOST_FAULTS]:
                self._problem(self._checked(cell), str(_refused(error)))
            return np.zeros(len(cells))
        costs, faults = np.zeros(len(cells)), 0
        for place, size in enumerate(zip(*sizes, strict=True)):
            if faults == MOST_FAULTS:
                break
            try:
                costs[place] = float(cost(*size))
            except (Exception, SystemExit) as error:
                self._problem(self._checked(cells[place]), str(_refused(error)))
                faults += 1
        for place in np.flatnonzero(~((costs >= 0) & (costs < math.inf)))[: MOST_FAULTS - faults]:
            text = f"its cost is {float(costs[place])}; a cost is a number of seconds, at least 0"
            self._problem(self._checked(cells[place]), text)
        return costs

    def _cost_function(self, first: int) -> Callable[[int, int], Any]:
        """Return cost(n, d) for cells that equal `first` in every other field.

        Raises whatever importing user code raises.
        """
        for name in sorted(frozenset[str]().union(*(column[first].user_code for column in self.parts.values()))):
            resolve(name)
        data, planted, architecture, method = (
            imported(self._value(first, name)) for name in ("data", "planted", "architecture", "method")
        )
        others = (data, planted, *(self._value(first, name) for name in ("noise", "patterns", "noise_scale")))
        check, of_setting = getattr(method, "check", None), getattr(method, "setting_cost", None)
        if not (check or of_setting):
            return method.cost

        def cost(n: int, d: int) -> Any:
            setting = Setting(n, d, *others)
            if check:
                check(setting, architecture)
            return of_setting(setting) if of_setting else method.cost(n, d)

        return cost

    def _checked(self, cell: int) -> Path:
        """Return the place of a fault of the cell's method: the last axis value that the fault may be about."""
        involved = [value.source for path, value in self.axes_at(cell).items() if path.partition(".")[0] in _CHECKED]
        return involved[-1] if involved else ("method",)

    def _source(self, cell: int, name: str) -> Path:
        axes = self.axes_at(cell)
        return axes[name].source if name in axes else (name,)

    def _value(self, cell: int, name: str) -> Any:
        return self.parts[name][cell].value

    def _problem(self, at: Path, text: str) -> None:
        self.problems.append(self.tree.problem(at, text))


def _refused(error: BaseException) -> RecoverError:
    if isinstance(error, RecoverError):
        return error
    return RecoverError(f"its cost or check raises {type(error).__name__}: {error}")


def in_bytes(count: float) -> str:
    """Return a number of bytes as text: 320 B, 1.5 MiB, 36.4 TiB."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min(int(math.log2(max(count, 1)) // 10), len(units) - 1)
    return f"{count / 1024**power:.3g} {units[power]}"
