"""Methods of recovery: their protocol, their result (column -> value), and the shipped methods by name.

A user's method may return a plain dictionary.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from recovery.instances.draw import Instance
from recovery.methods.columns import COLUMNS, Columns
from recovery.programs.architecture import Architecture
from recovery.types import Array, Scalar

if TYPE_CHECKING:  # these modules are not imported at run time: few commands need the oracle, which is compiled
    from recovery.conditions.oracle import Bounds
    from recovery.programs.certificate import Certified
    from recovery.programs.program import Program

Verdict = Literal["recovered", "not_unique", "not_optimal", "undecided"]
"""The planted weights are the unique optimum; at best one of several optima; not optimal; or nothing is proved."""
CertificateKind = Literal["isometry", "dual", "duplicate", "gap", "theorem", "none"]


@dataclass(frozen=True)
class Evidence:
    """The convex program that a row describes, and bounds on its dual norms over all patterns.

    found: weights and a dual with their certificate; None where the verdict needed no weights or no dual.
    """

    program: "Program"
    found: "Certified | None" = None
    bounds: "Bounds | None" = None


UNDECIDED = "undecided: nothing is proved"
"""Reason why an undecided trial has no value of `recovered`."""


class Measurement(dict[str, Scalar]):
    """The measured columns of one trial; a missing column is null. `measured.recovered` reads a column.

    unmeasured: column -> why it is null although it has a value; any other null is not defined. trajectory: named
    arrays whose first axis is time, stored next to the rows. evidence: not stored; `recover certificate` computes it
    again.
    """

    trajectory: Mapping[str, Array] | None = None
    evidence: Evidence | None = None

    def __init__(self, *given: Any, **columns: Scalar) -> None:
        super().__init__(*given, **columns)
        self.unmeasured: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        """Return the value of a column of the shared vocabulary, None where it was not measured."""
        if name in self or name in COLUMNS:
            return self.get(name)
        raise AttributeError(f"no column {name!r}")

    def having(self, **columns: Scalar) -> "Measurement":
        """Return a copy with these columns set."""
        copy = Measurement(self, **columns)
        copy.unmeasured, copy.trajectory, copy.evidence = dict(self.unmeasured), self.trajectory, self.evidence
        return copy

    def recording(self, trajectory: Mapping[str, Array] | None) -> "Measurement":
        """Return a copy with this trajectory."""
        copy = self.having()
        copy.trajectory = trajectory
        return copy


class Method(Protocol):
    """A method of recovery: a frozen value with parameters, and a pure function of an instance.

    columns: the columns that it measures. A mapping that leaves one out did not measure it; None says that it is not
    defined on the instance. With `data: none` it is called as `method(coordinates, rng)`, and `cost`, which may be left
    out, as `cost(coordinates)`. A method may also have `check(setting, architecture)`, called for every grid
    cell before anything runs, which raises `ParameterError` for settings that it cannot measure. It may have
    `setting_cost(setting)`, used in place of `cost` if its seconds depend on more of the setting than n and d. It may
    have `noiseless`, the names of the columns that are null in every trial with noise, and `on_demand`, the names of
    the columns that its `measuring()`, the same method with more measurements, measures in every trial.
    """

    columns: ClassVar[Columns]

    def __call__(self, instance: Instance, architecture: Architecture) -> Mapping[str, Scalar]:
        """Return the measured columns, which must be declared."""
        ...

    def cost(self, n: int, d: int) -> float:
        """Estimate the seconds of one trial, to order and batch trials; only ratios matter."""
        ...


def on_demand(method: Any, columns: Collection[str]) -> set[str]:
    """Return those of these columns that the method measures in every trial only if it is asked to."""
    return set(columns).intersection(getattr(method, "on_demand", ()))


def measuring(method: Any, columns: Collection[str]) -> Any:
    """Return a method that measures these columns in every trial, where it can, with the same verdicts.

    Sweeps use it for columns that their report, claims or stopping rule needs. Trial ids are those of `method` itself.
    """
    return method.measuring() if on_demand(method, columns) else method


PLACES = {
    "min_norm": "min_norm.MinNorm",
    "regularized": "min_norm.Regularized",
    "least_squares": "min_norm.LeastSquares",
    "isometry": "isometry.Isometry",
    "arrangement": "arrangement.Arrangement",
    "limit": "isometry.Limit",
    "train": "train.Train",
    "tensor": "tensor.Tensor",
    "select": "variable_selection.Select",
    "contraction": "train.Contraction",
}
"""Name -> module of this package and class."""


class _Methods(Mapping[str, type[Method]]):
    """Methods by name, each imported at its first use, because few commands need all of them."""

    def __getitem__(self, name: str) -> type[Method]:
        module, _, cls = PLACES[name].partition(".")
        method: type[Method] = getattr(import_module(f"recovery.methods.{module}"), cls)
        return method

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)

    def __contains__(self, name: object) -> bool:
        return name in PLACES


METHODS = _Methods()
