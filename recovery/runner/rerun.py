"""Stored trials are run again and compared with their rows, or their instances are drawn and saved."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recovery.config import Trial, Trials, refined
from recovery.config.tree import canonical_json
from recovery.errors import StoreError
from recovery.instances.draw import Instance
from recovery.instances.planted import Neurons
from recovery.methods.columns import SOLUTION, columns_of, union
from recovery.programs.certificate import CONE_TOLERANCE, RESIDUAL_TOLERANCE
from recovery.programs.exact import ExactProgram
from recovery.runner.engine import Engine
from recovery.runner.loading import sweep_of
from recovery.runner.pool import ask
from recovery.runner.trial import Row, draw_instance, failure
from recovery.store import Grid
from recovery.store.files import write_file
from recovery.store.folder import Folder
from recovery.store.parts import read_parts
from recovery.store.provenance import machine_in, provenance, running_version
from recovery.store.round_files import added, counts
from recovery.store.row_schema import CIRCUMSTANCE, FINISHED, IDENTITY, finished, may_lack

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Two numbers this close differ by rounding, which depends on the processor and the BLAS."""
RESIDUALS = {
    "gap": ExactProgram.gap_tolerance,
    "dual_violation": ExactProgram.gap_tolerance,
    "primal_residual": RESIDUAL_TOLERANCE,
    "cone_violation": CONE_TOLERANCE,
}
"""Residuals of a solution, and their tolerances. Below its tolerance, a residual depends on the path of the solver."""
FITTED = {"max_deviation", "absolute_distance", "test_distance"}
"""Measurements of a solution's weights, which a duality gap determines only approximately."""
UNPROVED = {None, "undecided"}
COUNTED, COUNT_TOLERANCE = {"active_groups"}, 0.05
"""Counts of active groups are known only up to the gap: a difference of one, or of this share, is allowed.
A count of 1 is exact."""


@dataclass(frozen=True)
class ColumnDifference:
    """A column in which a row and its replay differ. distance: how far apart the fits can be by their duality gaps."""

    column: str
    stored: Any
    again: Any
    distance: float = 0.0

    @property
    def rounding(self) -> bool:
        """Whether floating-point rounding, or the duality gaps of the fits, explain the difference."""
        if self.column in COUNTED and self.distance and self.stored and self.again:
            tolerance = max(1.0, COUNT_TOLERANCE * max(self.stored, self.again))
            return min(self.stored, self.again) > 1 and abs(self.stored - self.again) <= tolerance
        if not (isinstance(self.stored, float) and isinstance(self.again, float)):
            return False
        absolute = max(ABSOLUTE, self.distance if self.column in FITTED else 0.0)
        close = math.isclose(self.stored, self.again, rel_tol=RELATIVE, abs_tol=absolute)
        return close or max(abs(self.stored), abs(self.again)) <= RESIDUALS.get(self.column, 0.0)

    def __str__(self) -> str:
        return f"{self.column}: stored {self.stored}, now {self.again}" + (" (rounding)" if self.rounding else "")


Outcome = Literal["same", "rounding", "different", "open"]


@dataclass(frozen=True)
class Replayed:
    """Comparison of a stored row with its replay.

    outcome: `same`; equal up to `rounding`; `different`; or `open`: different, but made by another processor or NumPy,
    `made_on`, whose last bits may decide. not_compared: columns that the version which made the row did not measure.
    """

    trial: Trial
    again: Row
    differences: Sequence[ColumnDifference]
    outcome: Outcome
    made_on: str = ""
    not_compared: Sequence[str] = ()

    @property
    def agrees(self) -> bool:
        """Whether the program computes the stored row again, up to rounding."""
        return self.outcome in ("same", "rounding")


def replay(grid: Grid, trials: Sequence[Trial], jobs: int = 1) -> Iterator[Replayed]:
    """Run stored trials again, and compare them with their rows."""
    compared = comparison(grid, trials)
    return (compared(trial, row) for trial, row in run(trials, jobs))


def comparison(grid: Grid, trials: Sequence[Trial]) -> Callable[[Trial, Row], Replayed]:
    """Return the function that compares a replayed row of one of these stored trials with its stored row.

    Columns that the version of the stored row did not measure, or the methods of these trials do not declare, are not
    compared. Contradictory verdicts are different whatever made the row, because each claims a proof.
    """
    stored, lacking = stored_rows(grid, trials), lacking_by_version(grid.table, grid.columns)
    axes = {name for trial in trials for name in trial.cell.coordinates}
    declared = union(columns_of(method) for method in {trial.cell.method for trial in trials}).keys()
    unknown = set(grid.table.column_names) - (grid.columns.keys() & declared) - axes - {*IDENTITY, *CIRCUMSTANCE}

    here = machine_in(provenance())

    def compared(trial: Trial, row: Row) -> Replayed:
        was = stored[trial.id]
        full = {"sweep": grid.sweep["name"], "replicate": trial.replicate, **trial.cell.coordinates, **row}
        not_compared = lacking[was["made_by"]] | unknown
        unequal = differences(was, full, not_compared)
        skipped = [name for name in not_compared if full.get(name) is not None]
        elsewhere = machine if (machine := str(was.get("made_on") or "")) != here else ""
        if all(difference.rounding for difference in unequal):
            outcome: Outcome = "rounding" if unequal else "same"
        else:
            # of two proved verdicts only one can be true
            proved = any(one.column == "verdict" and not {one.stored, one.again} & UNPROVED for one in unequal)
            outcome = "open" if elsewhere and not proved else "different"
        return Replayed(trial, row, unequal, outcome, elsewhere, skipped)

    return compared


def run(trials: Iterable[Trial], jobs: int = 1) -> Iterator[tuple[Trial, Row]]:
    """Yield the trials with their new rows, in the order in which they finish."""
    for done in Engine(jobs).run(trials):
        yield from done


def lacking_by_version(rows: pa.Table, columns: Iterable[str]) -> dict[str, set[str]]:
    """Return version -> columns that its rows lack, because it did not measure them; none for the running version."""
    found = {running_version(): set[str]()}
    for version in pc.unique(rows["made_by"]).to_pylist():
        mine = rows.filter(pc.equal(rows["made_by"], version))
        empty = {name for name in columns if name not in mine.column_names or mine[name].null_count == len(mine)}
        found.setdefault(version, empty)
    return found


def trials_of_grid(grid: Grid, *, trust: bool) -> Trials:
    """Return the trials of the sweep and its stored rounds. Raises `ConfigError` for user code without `trust`."""
    return sweep_of(refined(grid.sweep["config"], added(grid.rounds)), trust=trust).trials(counts(grid.rounds))


def find_trial(grid: Grid, prefix: str, *, trust: bool) -> Trial:
    """Return the planned trial whose id starts with `prefix`. Raises `StoreError` if there is not exactly one."""
    planned = trials_of_grid(grid, trust=trust)
    matching = [place for place, trial_id in enumerate(planned.ids) if trial_id.startswith(prefix)]
    if len(matching) != 1:
        what = f"{len(matching)} trial ids start" if matching else "no trial id starts"
        raise StoreError(f"{grid.path}: {what} with {prefix!r}; the column trial_id has the ids")
    return planned[matching[0]]


def stored_rows(grid: Grid, trials: Iterable[Trial]) -> dict[str, Row]:
    """Return trial id -> stored row, for the trials that have one."""
    ids = grid.table["trial_id"]
    chosen = pa.array([trial.id for trial in trials], ids.type)
    return {row["trial_id"]: row for row in grid.table.filter(pc.is_in(ids, chosen)).to_pylist()}


def repeated_rows(grid: Grid) -> dict[str, ColumnDifference]:
    """Return trial id -> a difference, for trials with several finished rows that differ, of which reports use one."""
    rows = pa.concat_tables([table for _, table in read_parts(Folder(grid.path).trials)], promote_options="permissive")
    ids = pc.value_counts(rows.filter(finished(rows))["trial_id"])
    more = ids.field("values").filter(pc.greater(ids.field("counts"), 1))
    first, found = dict[str, Row](), dict[str, ColumnDifference]()
    for row in rows.filter(pc.is_in(rows["trial_id"], more)).to_pylist():
        if row["status"] in FINISHED:
            for difference in differences(first.setdefault(row["trial_id"], row), row):
                if not difference.rounding:
                    found[row["trial_id"]] = difference
    return found


def differences(stored: Row, again: Row, lacking: Collection[str] = ()) -> list[ColumnDifference]:
    """Return the columns of a row, coordinates among them, in which another row of the trial, `again`, differs.

    Not compared: times, error messages, the solver and its number of iterations, which depend on version and rounding,
    the columns in `lacking`, and columns of solutions that the stored row does not have because nothing asked for them.
    """
    ignored = ({*CIRCUMSTANCE} - {"status", "error_type"}).union(lacking)
    ignored |= {name for name in SOLUTION if stored.get(name) is None and may_lack(stored.get("unmeasured"), name)}
    if stored.get("solver") is not None:
        ignored |= {"iterations", "solver"}
    pairs = [(name, was, again.get(name)) for name, was in stored.items() if name not in ignored]
    distance = _fit_uncertainty(stored) + _fit_uncertainty(again)
    return [ColumnDifference(name, was, now, distance) for name, was, now in pairs if was != now]


def _fit_uncertainty(row: Row) -> float:
    """Bound ||F(W) - F(W*)||, W* optimal, by sqrt(2 gap objective): this contains 1/2 ||F(W) - y||^2, gap is relative.

    The weights are assumed to differ by as much, which is not true of all data. 0 if no gap proves the row.
    """
    gap, objective = row.get("gap"), row.get("objective")
    if gap is None or objective is None or not abs(gap) <= RESIDUALS["gap"]:
        return 0.0
    return math.sqrt(2 * abs(gap) * abs(objective))


def draw_arrays(trial: Trial) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Draw the trial's instance; return the columns that say why drawing failed ({} if it did not), and the arrays."""
    try:
        instance = draw_instance(trial)
    except Exception as error:  # the code of a user's ensemble may raise any exception
        return failure("failed", error), {}
    return {}, instance_arrays(instance)


def instance_arrays(instance: Instance) -> dict[str, Any]:
    """Return X, y, noise, patterns, planted neurons, and X_test if there is one."""
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
    return arrays


def save_instance(trial: Trial, path: Path) -> None:
    """Write the instance: X, y, noise, patterns, planted neurons, any X_test, and config. Raises `StoreError`."""
    fault, drawn = ask(draw_arrays, trial) if trial.cell.own else draw_arrays(trial)
    if fault:
        raise StoreError(f"{trial.id}: its instance cannot be drawn: {fault['error_type']}: {fault['error_message']}")
    save_arrays(trial, drawn, path)


def save_arrays(trial: Trial, arrays: Mapping[str, Any], path: Path) -> None:
    """Write arrays of a trial as .npz, with its id and its resolved fields as JSON, `config`. Raises `StoreError`."""
    config = canonical_json([dict(trial.cell.canonical), trial.replicate])
    file, named = BytesIO(), {"trial_id": np.array(trial.id), "config": np.array(config), **arrays}
    np.savez_compressed(file, **named)
    write_file(path, file.getvalue())
