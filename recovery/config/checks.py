"""Whether what the config asks of its cells can be: memory, files, and what methods say of them; and their costs."""

import math
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recovery.config.coded import Coded, distinct
from recovery.config.components import Built, imported
from recovery.config.points import AxisValue
from recovery.config.problems import Path, Problem
from recovery.config.tree import Tree
from recovery.errors import ParameterError, RecoverError
from recovery.instances.draw import Setting
from recovery.instances.files import File
from recovery.instances.recorded import FileColumn
from recovery.types import Array, Index, Mask
from recovery.user import resolve

MOST_BYTES = 2**40
"""Of X: the memory of the largest machines."""
MOST_FAULTS = 1000
"""SweepCells with a fault of one kind, after which no more are looked for: a message shows some twenty."""
_CHECKED = ("architecture", "planted", "method")

Parts = Mapping[str, Coded[Built]]


@dataclass
class Checks:
    """What is asked of cells whose components are `parts`; `at` has the axis values of a cell of this number."""

    tree: Tree
    parts: Parts
    at: Callable[[int], Mapping[str, AxisValue]]
    problems: list[Problem] = field(default_factory=list)

    def fits(self) -> Mask:
        """Whether memory can hold each X, and a file has as many rows and columns as the cell asks for."""
        n, d = (
            np.array([min(part.value, MOST_BYTES) for part in column.values], np.float64)[column.codes]
            for column in (self.parts["n"], self.parts["d"])
        )
        fits: Mask = 8 * n * d <= MOST_BYTES
        for cell in np.flatnonzero(~fits)[:MOST_FAULTS]:
            rows, columns = self._value(cell, "n"), self._value(cell, "d")
            text = f"found n = {rows} and d = {columns}: X alone takes {in_bytes(8 * rows * columns)}"
            self._say(self._source(cell, "n"), f"{text}; at most {in_bytes(MOST_BYTES)} are allowed")
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
                self._say(("planted",), str(error))
                return False
        if not isinstance(ensemble, File):
            return True
        fits = True
        for name, most, what in zip(("n", "d"), ensemble.shape, ("rows", "columns"), strict=True):
            if (size := self._value(cell, name)) > most:
                self._say(self._source(cell, name), f"found {name} = {size}, and {ensemble.path} has {most} {what}")
                fits = False
        return fits

    def costs(self, cells: Index) -> Array:
        """The seconds that the method guesses for a trial of each; 0 where it, or the user's code, refuses the cell."""
        costs = np.zeros(len(cells))
        laws = [column.take(cells) for name, column in self.parts.items() if name not in ("n", "d")]
        first, law = distinct(laws)
        alike = np.split(np.argsort(law, kind="stable"), np.cumsum(np.bincount(law))[:-1])
        for representative, places in zip(first, alike[: len(first)], strict=True):
            costs[places] = self._asked(cells[representative], cells[places])
        return costs

    def _asked(self, first: int, cells: Index) -> Array:
        """The cost of each of some cells that differ in n and d alone; 0 where there is none, which is a problem."""
        sizes = [
            Coded([part.value for part in self.parts[name].values], self.parts[name].codes[cells]) for name in "nd"
        ]
        try:
            ask = self._question(first)
        except (Exception, SystemExit) as error:
            for cell in cells[:MOST_FAULTS]:
                self._say(self._checked(cell), str(_refused(error)))
            return np.zeros(len(cells))
        told, faults = array("d"), 0
        answers = map(float, map(ask, *sizes))  # goes on behind a call that raised
        while len(told) < len(cells) and faults < MOST_FAULTS:
            try:
                told.extend(answers)
                if len(told) < len(cells):
                    raise StopIteration  # by the user's code: the answers would not be at their end
            except (Exception, SystemExit) as error:
                self._say(self._checked(cells[len(told)]), str(_refused(error)))
                told.append(0.0)
                faults += 1
        costs = np.zeros(len(cells))
        costs[: len(told)] = told
        for place in np.flatnonzero(~((costs >= 0) & (costs < math.inf)))[: MOST_FAULTS - faults]:
            text = f"its cost is {float(costs[place])}; a cost is a number of seconds, at least 0"
            self._say(self._checked(cells[place]), text)
        return costs

    def _question(self, first: int) -> Callable[[int, int], Any]:
        """What tells the cost of the cell of these n and d that is like another in all else. Raises what importing the
        user's code does."""
        for name in sorted(frozenset[str]().union(*(column[first].own for column in self.parts.values()))):
            resolve(name)
        data, planted, architecture, method = (
            imported(self._value(first, name)) for name in ("data", "planted", "architecture", "method")
        )
        others = (data, planted, *(self._value(first, name) for name in ("noise", "patterns", "noise_scale")))
        check, of_setting = getattr(method, "check", None), getattr(method, "setting_cost", None)
        if not (check or of_setting):
            return method.cost

        def ask(n: int, d: int) -> Any:
            setting = Setting(n, d, *others)
            if check:
                check(setting, architecture)
            return of_setting(setting) if of_setting else method.cost(n, d)

        return ask

    def _checked(self, cell: int) -> Path:
        """Where a method's fault is placed: at the last axis value that it may be about."""
        involved = [value.source for path, value in self.at(cell).items() if path.partition(".")[0] in _CHECKED]
        return involved[-1] if involved else ("method",)

    def _source(self, cell: int, name: str) -> Path:
        at = self.at(cell)
        return at[name].source if name in at else (name,)

    def _value(self, cell: int, name: str) -> Any:
        return self.parts[name][cell].value

    def _say(self, at: Path, text: str) -> None:
        self.problems.append(self.tree.problem(at, text))


def _refused(error: BaseException) -> RecoverError:
    if isinstance(error, RecoverError):
        return error
    return RecoverError(f"its cost or check raises {type(error).__name__}: {error}")


def in_bytes(count: float) -> str:
    """As 320 B, 1.5 MiB, 36.4 TiB."""
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    power = min(int(math.log2(max(count, 1)) // 10), len(units) - 1)
    return f"{count / 1024**power:.3g} {units[power]}"
