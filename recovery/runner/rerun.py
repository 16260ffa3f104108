"""Stored trials run again: does the same row come out, and what was the instance?"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.config import Trial, Trials
from recovery.config.tree import canonical_json
from recovery.errors import StoreError
from recovery.instances.planted import Neurons
from recovery.methods.columns import Columns
from recovery.programs.certificate import CONE_TOLERANCE, RESIDUAL_TOLERANCE
from recovery.programs.exact import ExactProgram
from recovery.runner.arithmetic import Arithmetic, computing_in, other_versions, others
from recovery.runner.own_code import sweep_of
from recovery.runner.pool import ask
from recovery.runner.trial import Row, draw_instance, failure
from recovery.runner.workers import Engine
from recovery.store import Grid
from recovery.store.parts import write_file
from recovery.store.round_files import counts

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Numbers this close are the same up to rounding, which another processor or BLAS may do differently."""
RESIDUALS = {
    "gap": ExactProgram.gap_tolerance,
    "dual_violation": ExactProgram.gap_tolerance,
    "primal_residual": RESIDUAL_TOLERANCE,
    "cone_violation": CONE_TOLERANCE,
}
"""Errors of a solution, and up to where one is as good as another: how far below depends on the path of the solver."""
FITTED = {"max_deviation", "absolute_distance", "test_distance"}
"""What is measured of a solution's weights: a gap leaves them free to move."""
COUNTED, FEW = {"active_groups"}, 0.05
"""Counts of weights that are not next to nothing: a gap leaves one of them, or this share, on either side.
Of a single neuron it leaves none."""


@dataclass(frozen=True)
class Difference:
    """A column in which a stored row and its replay disagree; moved: how far apart their gaps let the
    fits be.
    """

    column: str
    stored: Any
    again: Any
    moved: float = 0.0

    @property
    def rounding(self) -> bool:
        """Whether it is explained by floating-point rounding."""
        if self.column in COUNTED and self.moved and self.stored and self.again:
            few = max(1.0, FEW * max(self.stored, self.again))
            return min(self.stored, self.again) > 1 and abs(self.stored - self.again) <= few
        if not (isinstance(self.stored, float) and isinstance(self.again, float)):
            return False
        free = max(ABSOLUTE, self.moved if self.column in FITTED else 0.0)
        close = math.isclose(self.stored, self.again, rel_tol=RELATIVE, abs_tol=free)
        return close or max(abs(self.stored), abs(self.again)) <= RESIDUALS.get(self.column, 0.0)

    @property
    def contradiction(self) -> bool:
        """Whether both are proved, and only one can be true."""
        return self.column == "verdict" and not {self.stored, self.again} & {None, "undecided"}

    def __str__(self) -> str:
        return f"{self.column}: stored {self.stored}, now {self.again}" + (" (rounding)" if self.rounding else "")


@dataclass(frozen=True)
class Replayed:
    """A stored trial that ran again.

    outcome: its row is the `same`; the same up to `rounding`; the same in the `other` arithmetic that computed it;
    `different`; or `open`: it differs, and an arithmetic that may have computed it does not run on this machine.
    """

    trial: Trial
    again: Row
    differences: Sequence[Difference]
    outcome: Literal["same", "rounding", "other", "different", "open"]
    arithmetics: Sequence[Arithmetic | str] = ()
    """The other one, or those that do not run, versions of NumPy among them."""

    @property
    def agrees(self) -> bool:
        """Whether the stored row is what the program computes."""
        return self.outcome in ("same", "rounding", "other")


def replay(grid: Grid, trials: Sequence[Trial], jobs: int = 1) -> Iterator[Replayed]:
    """Run stored trials again. One that differs runs in every other arithmetic that computed rows of the grid.

    So a row passes where the program computes it in an arithmetic that its grid names, and only there. Two verdicts
    that exclude each other are different in whatever arithmetic: each claims a proof.
    """
    stored = stored_rows(grid, trials)
    first = (compare(trial, row, stored[trial.id], grid.columns) for trial, row in run(trials, jobs))
    left = list[Replayed]()
    for result in first:
        if result.agrees or any(difference.contradiction for difference in result.differences):
            yield result
        else:
            left.append(result)
    lacking: list[Arithmetic | str] = [*other_versions(grid.makers)] if left else []
    for other in others(grid.makers) if left else ():
        if not other.runs_here():
            lacking.append(other)
            continue
        nearest, left = {result.trial.id: result for result in left}, []
        with computing_in(other):
            for trial, row in run([result.trial for result in nearest.values()], jobs):
                result = compare(trial, row, stored[trial.id], grid.columns)
                if result.agrees:
                    yield replace(result, outcome="other", arithmetics=[other])
                else:
                    left.append(min(nearest[trial.id], result, key=lambda one: len(one.differences)))
    for result in left:
        yield replace(result, outcome="open", arithmetics=lacking) if lacking else result


def run(trials: Iterable[Trial], jobs: int = 1) -> Iterator[tuple[Trial, Row]]:
    """The trials and their new rows, as they are done."""
    for done in Engine(jobs).run(trials):
        yield from done


def compare(trial: Trial, again: Row, stored: Row, columns: Columns) -> Replayed:
    """What this one replay says."""
    unequal = differences(stored, again, columns)
    if not all(difference.rounding for difference in unequal):
        return Replayed(trial, again, unequal, "different")
    return Replayed(trial, again, unequal, "rounding" if unequal else "same")


def planned_trials(grid: Grid, *, trust: bool) -> Trials:
    """Every trial that the grid's sweep, and its rounds so far, ask for.

    Raises `ConfigError` if they run code of the user's that is not to be trusted.
    """
    return sweep_of(grid.sweep["config"], trust=trust).trials(counts(grid.rounds))


def find_trial(grid: Grid, prefix: str, *, trust: bool) -> Trial:
    """The planned trial whose id starts so. Raises `StoreError` if there is none or more than one."""
    planned = planned_trials(grid, trust=trust)
    matching = [place for place, trial_id in enumerate(planned.ids) if trial_id.startswith(prefix)]
    if len(matching) != 1:
        what = f"{len(matching)} trials start" if matching else "no trial starts"
        raise StoreError(f"{grid.path}: {what} with {prefix!r}; ids are in the column trial_id")
    return planned[matching[0]]


def stored_rows(grid: Grid, trials: Iterable[Trial]) -> dict[str, Row]:
    """trial id -> its stored row, for those of these trials that have one."""
    ids = grid.table["trial_id"]
    chosen = pa.array([trial.id for trial in trials], ids.type)
    return {row["trial_id"]: row for row in grid.table.filter(pc.is_in(ids, chosen)).to_pylist()}


def differences(stored: Row, again: Row, columns: Columns) -> list[Difference]:
    """The columns in which two rows of one trial disagree; times and messages of errors do not count.

    Nor do which solver answered in how many steps, which another version or another rounding changes, nor a column that
    is younger than the grid, which its files do not have.
    """
    ignored = {"iterations", "solver"} if stored.get("solver") is not None else set()
    names = ["status", "error_type", *(name for name in columns if name in stored and name not in ignored)]
    pairs = [(name, stored.get(name), again.get(name)) for name in names]
    moved = _moved(stored) + _moved(again)
    return [Difference(name, was, now, moved) for name, was, now in pairs if was != now]


def _moved(row: Row) -> float:
    """How far ||F(W) - F(W*)|| from the optimum a gap lets the fit be, as 1/2 ||F(W) - y||^2 is in the objective.

    Weights are taken to move as far: how much more or less they do depends on the data. 0 where no gap proves the row.
    """
    gap, objective = row.get("gap"), row.get("objective")
    if gap is None or objective is None or not abs(gap) <= RESIDUALS["gap"]:
        return 0.0
    return math.sqrt(2 * abs(gap) * abs(objective))


def draw_arrays(trial: Trial) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Why the trial's instance cannot be drawn, if so; and its arrays."""
    try:
        instance = draw_instance(trial)
    except Exception as error:  # whatever the user's own ensemble raises
        return failure("failed", error), {}
    arrays: dict[str, Any] = {
        "X": instance.X,
        "y": instance.y,
        "noise": instance.y - instance.signal,
        "patterns": instance.patterns,
    }
    if isinstance(instance.planted, Neurons):
        arrays |= {"planted_directions": instance.planted.directions, "planted_signs": instance.planted.signs}
    if instance.test is not None:
        arrays["X_test"] = instance.test
    return {}, arrays


def save_instance(trial: Trial, path: Path) -> None:
    """Write the trial's instance as .npz: X, y, noise, patterns, planted neurons, X_test if there is one.

    `config` is the JSON of the trial's resolved fields. Loads without pickle. Raises `StoreError`.
    """
    fault, drawn = ask(draw_arrays, trial) if trial.cell.own else draw_arrays(trial)
    if fault:
        raise StoreError(f"{trial.id}: its instance cannot be drawn: {fault['error_type']}: {fault['error_message']}")
    config = canonical_json([dict(trial.cell.canonical), trial.replicate])
    try:
        file = BytesIO()
        np.savez_compressed(file, trial_id=np.array(trial.id), config=np.array(config), **drawn)
        write_file(path, file.getvalue())
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
