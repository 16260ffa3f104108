"""Columns that methods measure, each with its type, meaning and unit.

A method declares its columns as a class attribute, `columns = select("recovered", "verdict", ...)`. It may add others:
`columns = select("recovered") | {"angle": Column(float, "angle to the planted neuron", "degrees")}`.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recovery.errors import ParameterError, RecoverError
from recovery.types import Array, Scalar

LARGEST_INTEGER = 2**63 - 1
"""Stored integers have 64 bits."""


@dataclass(frozen=True)
class Column:
    """A measured column.

    kind: bool, int, float or str. meaning: a sentence for reports. unit: empty for a pure number; an int with a unit is
    a count, and at least 0.
    """

    kind: type
    meaning: str
    unit: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"a column is of kind bool, int, float or str, found {self.kind!r}")

    def _plain(self, name: str, value: Any) -> Scalar:
        """Return a value as the plain type of this column. Raises `ColumnError` for a value of another type."""
        if value is None or (isinstance(value, bool) and self.kind is bool):
            return value
        if not isinstance(value, KINDS[self.kind]) or (isinstance(value, (bool, np.bool_)) and self.kind is not bool):
            raise ColumnError(
                f"column {name!r} holds {self.kind.__name__}, found {type(value).__name__}: {value!r:.60}"
            )
        plain: Scalar = self.kind(value)
        if isinstance(plain, int) and not -LARGEST_INTEGER - 1 <= plain <= LARGEST_INTEGER:
            raise ColumnError(f"column {name!r} holds integers of 64 bits, found {plain}")
        if isinstance(plain, str) and plain.encode("utf-8", "ignore").decode() != plain:
            raise ColumnError(f"column {name!r} holds text, found {plain!a:.60}, which has half a character")
        return plain


Columns = Mapping[str, Column]


class ColumnError(RecoverError):
    """Raised for a column that a method does not declare, and for a value that its column cannot hold."""


KINDS: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
    str: (str,),
}
"""Kind of a column -> types that a method may return for its values."""

COLUMNS: dict[str, Column] = {
    "recovered": Column(bool, "the planted weights are the unique optimum; null with noise and without a proof"),
    "verdict": Column(str, "recovered, not_unique, not_optimal or undecided"),
    "certificate": Column(str, "certificate of the verdict: isometry, dual, duplicate, gap, theorem or none"),
    "reason": Column(str, "why a verdict is undecided, or what a proved verdict does not settle"),
    "patterns_proved": Column(str, "pattern set of the verdict: all, searched or sampled"),
    "isometry_value": Column(float, "the largest ||A_g^T lam|| off the planted groups, which recovery needs below 1"),
    "max_deviation": Column(float, "the largest entry of |W - W*|"),
    "absolute_distance": Column(float, "||W - W*|| over the planted groups (P1, section VII)"),
    "test_distance": Column(float, "||f - f*|| on a fresh draw of the data"),
    "objective": Column(float, "objective of the weights found"),
    "dual_objective": Column(float, "a proved lower bound on the optimum"),
    "gap": Column(float, "objective less lower bound, relative"),
    "primal_residual": Column(float, "||A W - y|| / ||y||"),
    "dual_violation": Column(float, "the largest ||A_g^T lam|| over its bound, less 1, before lam was scaled back"),
    "cone_violation": Column(float, "largest distance of neurons from the cones of their patterns, relative"),
    "active_groups": Column(int, "groups with a weight above 1e-6 of the largest", "groups"),
    "pattern_count": Column(int, "arrangement patterns of the program", "patterns"),
    "all_ones": Column(bool, "some direction has a positive product with every row"),
    "solver": Column(str, "solver of the weights or the dual"),
    "iterations": Column(int, "steps of the solver, or epochs", "steps"),
    "redraws": Column(int, "draws of the planted neurons that were inactive and drawn again", "draws"),
    "support_recovered": Column(bool, "exactly the planted groups are active"),
    "training_loss": Column(float, "the loss at the end of training"),
    "population_loss": Column(float, "the expected loss at the end of training, in closed form"),
    "gradient_norm": Column(float, "the norm of the gradient at the end of training"),
    "weight_error": Column(float, "||W - W*||_F of the trained layer"),
    "group_error": Column(float, "||sum of v_i w_i - a|| over the neurons of a sign"),
    "pairing_error": Column(float, "the largest distance of paired neurons, relative"),
    "merged_neurons": Column(int, "distinct directions among the trained neurons", "neurons"),
    "equal_signs": Column(bool, "the outer layer started with equal signs"),
    "stopped": Column(str, "why training ended: target, stationary, flat, epochs or diverged"),
    "convex_recovered": Column(bool, "the convex program recovers on the same instance"),
    "excess": Column(float, "the training objective divided by `optimum`, less 1"),
    "excess_low": Column(float, "a proved lower bound on the excess over the true optimum"),
    "excess_high": Column(float, "a proved upper bound on it"),
    "optimum": Column(float, "the objective of the best network of any width that the convex program found"),
    "optimum_gap": Column(float, "how far the true optimum may be below it, relative; proved over all patterns"),
    "optimum_neurons": Column(int, "distinct neurons of that network, without the skip connection", "neurons"),
    "optimum_test_distance": Column(float, "||f_optimum - f*|| on the test draw"),
    "function_distance": Column(float, "||f - f_optimum|| on the test draw"),
    "failure_bound": Column(float, "Theorem A's bound on P(not recovered) of X up to signs of rows"),
    "flip_margin": Column(float, "least ||sum a_i (w_i, b_i)|| over sets of planted units; at 0 their signs are free"),
    "stationarity": Column(float, "distance of 0 from the gradients, with any slopes where a neuron is 0 on a row"),
    "holds": Column(bool, "the condition holds, or the event occurred"),
    "isometry_margin": Column(float, "the bound of the condition less its value"),
    "attained_by": Column(int, "the index of the pattern that attains the condition's value"),
    "frequency": Column(float, "the share of draws in which the event occurred"),
    "predicted": Column(float, "what the theory predicts for the measured value"),
    "bound": Column(float, "the paper's bound on it"),
    "z_score": Column(float, "(count - expected) / standard deviation"),
}
"""Vocabulary of columns that the shipped methods share."""

FIXED = ("n", "d", "noise", "ensemble", "planted", "architecture", "method")
"""Coordinates that every row has; the axes follow."""

RESERVED = (
    *("trial_id", "sweep", "replicate", *FIXED),
    *("status", "seconds", "started_at", "error_type", "error_message"),
    *("own_code", "made_by", "made_on", "unmeasured"),
)
"""Names of the columns that every row has, which no method may declare."""

TALLIED = (
    *("value", "yes", "no", "count", "trials", "ok", "failed", "missing", "undecided", "unmeasured", "undefined"),
    *("mean", "median", "lowest", "highest", "lower", "upper", "worst", "best", "low", "high", "ix", "iy"),
    *("scope", "paired", "difference", "gained", "lost", "largest", "unknown", "size", "sum", "level", "p", "q"),
)
"""Columns of the tables of grid cells and of comparisons, whose names no axis may have."""


def columns_document(columns: Columns) -> dict[str, dict[str, str]]:
    """Return name -> kind, meaning and unit of each column, as plain data."""
    return {name: {"kind": c.kind.__name__, "meaning": c.meaning, "unit": c.unit} for name, c in columns.items()}


def columns_from(document: Mapping[str, Mapping[str, str]]) -> Columns:
    """Return the columns of a `columns_document`. Raises KeyError, TypeError, AttributeError or `ParameterError`."""
    kinds = {kind.__name__: kind for kind in KINDS}
    return {name: Column(kinds[c["kind"]], c["meaning"], c["unit"]) for name, c in document.items()}


def select(*names: str) -> dict[str, Column]:
    """Return columns of the shared vocabulary by name.

    names: as on the page of columns of the reference.
    """
    return {name: COLUMNS[name] for name in names}


SOLUTION = (
    *("max_deviation", "absolute_distance", "test_distance", "objective", "dual_objective", "gap", "primal_residual"),
    *("dual_violation", "cone_violation", "active_groups"),
)
"""Columns that a solution of a convex program has, and a trial that is decided without one does not measure."""
SOLVED = select("certificate", *SOLUTION, "pattern_count", "all_ones", "solver", "iterations", "redraws")
"""Columns of a trial of a convex program."""


def columns_of(method: object) -> Columns:
    """Return the columns that a method, or its class, declares. Raises `ParameterError` if it declares none."""
    declared = getattr(method, "columns", None)
    cls = method if isinstance(method, type) else type(method)
    if not isinstance(declared, Mapping) or not declared:
        raise ParameterError(
            f"{cls.__name__} declares no columns; give the class `columns = select(...)`, or "
            '`columns = {"angle": Column(float, "angle to the planted neuron", "degrees")}`, '
            "from recovery.methods.columns"
        )
    for name, column in declared.items():
        if not isinstance(name, str) or not name.isidentifier() or not isinstance(column, Column):
            wrong = "not a name with a Column"
        elif name in RESERVED:
            wrong = "a column that every row has; choose another name"
        elif name in COLUMNS and COLUMNS[name].kind is not column.kind:
            known, found = COLUMNS[name].kind.__name__, column.kind.__name__
            wrong = f"{known} in every other method, found {found}; choose another name"
        else:
            continue
        raise ParameterError(f"{cls.__name__}.columns: {name!r} is {wrong}")
    return declared


def union(declared: Iterable[Columns]) -> dict[str, Column]:
    """Return all columns of several methods. Raises `ParameterError` where two methods disagree on the type of one."""
    by_name: dict[str, Column] = {}
    for columns in declared:
        for name, column in columns.items():
            if by_name.setdefault(name, column) != column and by_name[name].kind is not column.kind:
                raise ParameterError(
                    f"two methods declare the column {name!r}, as {by_name[name].kind.__name__} and as "
                    f"{column.kind.__name__}; give one of them another name"
                )
    return by_name


DEVIATION_TOLERANCE = 1e-4
"""Recovered when every entry of the weights is within this distance of W*, as in the published code of P1."""
PLANTED = ("max_deviation", "absolute_distance", "test_distance")
"""Columns that are 0 at the planted weights, and never below."""
SHARES = ("frequency",)
"""Columns between 0 and 1."""
UNIQUE = ("isometry", "dual", "theorem")
"""Certificates of a recovery that prove the planted weights themselves to be the unique optimum."""


def implied(column: str, verdict: str | None, certificate: str | None) -> tuple[float, float]:
    """Return the least and the greatest value that a column can have in a trial that did not measure it.

    Only the verdict `recovered` bounds a deviation from above: otherwise the optimum may be anywhere, even very near.
    """
    if column not in PLANTED:
        return (0.0, 1.0) if column in SHARES else (-math.inf, math.inf)
    if verdict == "recovered" and certificate in UNIQUE:
        return 0.0, 0.0
    return 0.0, DEVIATION_TOLERANCE if verdict == "recovered" and column == "max_deviation" else math.inf


def parse_event(text: str) -> tuple[str, float | None]:
    """Parse `max_deviation<=1e-4` into column and bound, None for a column alone. Raises `ValueError`."""
    match = re.fullmatch(r"\s*([\w.]+)\s*(?:<=?\s*(\S+))?\s*", text)
    if match is None:
        raise ValueError(f"found {text!r}; allowed: COLUMN, or COLUMN<=NUMBER")
    column, bound = match[1], None if match[2] is None else float(match[2])
    if bound is not None and not math.isfinite(bound):
        raise ValueError(f"found {text!r}; a bound is a finite number")
    return column, bound


def checked(measured: object, columns: Columns) -> dict[str, Scalar]:
    """Return declared column -> measured value, as its plain type; None where it is missing, NaN or infinite.

    Raises `ColumnError` if `measured` is no mapping, has an undeclared column, or a value of another type.
    """
    if not isinstance(measured, Mapping):
        raise ColumnError(f"a method returns a mapping of columns to values, found {type(measured).__name__}")
    unknown = [name for name in measured if name not in columns]
    if unknown:
        raise ColumnError(f"column {unknown[0]!r} is not declared; declared are: {', '.join(columns)}")
    lost = not_finite(measured)
    return {name: column._plain(name, None if name in lost else measured.get(name)) for name, column in columns.items()}


def not_finite(measured: Mapping[str, object]) -> dict[str, str]:
    """Return column -> reason for the measured values that are NaN or infinite. A trial with one is `diverged`."""
    return {
        name: f"{value} is not finite"
        for name, value in measured.items()
        if isinstance(value, (float, np.floating)) and not math.isfinite(value)
    }


LEFT_OUT = "the method returned no value"


def unmeasured(measured: Mapping[str, object], columns: Columns) -> dict[str, str]:
    """Return column -> reason for the declared columns that a trial did not measure although they have a value.

    A `Measurement` names them. For any other mapping these are the columns that it leaves out. NaN and infinity count
    as not measured.
    """
    left_out = dict.fromkeys((name for name in columns if name not in measured), LEFT_OUT)
    named: Mapping[str, str] = getattr(measured, "unmeasured", left_out)
    lacking = {name: why for name, why in named.items() if measured.get(name) is None} | not_finite(measured)
    return {name: lacking[name] for name in columns if name in lacking}


def checked_record(record: object) -> dict[str, Array]:
    """Return a trajectory as arrays of doubles of one length, the number of recorded times; {} for None.

    Raises `ColumnError` for anything else.
    """
    if record is None:
        return {}
    if not isinstance(record, Mapping) or not all(isinstance(name, str) and name.isidentifier() for name in record):
        raise ColumnError("a trajectory is a mapping of names to arrays")
    arrays = dict[str, Array]()
    for name, values in record.items():
        try:
            array = np.asarray(values)
        except ValueError as error:  # NumPy refuses nested lists of different lengths
            raise ColumnError(f"trajectory {name!r}: {error}") from error
        if name in RESERVED:
            raise ColumnError(f"trajectory {name!r} has the name of a column that every row has; choose another")
        if array.ndim < 1 or array.dtype.kind not in "fiub":
            raise ColumnError(
                f"trajectory {name!r} needs an array of numbers, found {array.dtype}, shape {array.shape}"
            )
        arrays[name] = np.array(array, np.float64)
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ColumnError(f"the arrays of a trajectory need the same length, at least 1: {counts}")
    return arrays
