"""What a method is, and what it hands back: column -> value. A user's method may return a plain dictionary."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol

from recovery.instances.draw import Instance
from recovery.methods.columns import COLUMNS, Columns
from recovery.programs.architecture import Architecture
from recovery.types import Array, Scalar

Verdict = Literal["recovered", "not_unique", "not_optimal", "undecided"]
"""The planted weights are the unique optimum; are at best one of several; are no optimum; or none was proved."""
CertificateKind = Literal["isometry", "dual", "duplicate", "gap", "none"]


class Measurement(dict[str, Scalar]):
    """The measured columns of one trial; a column left out is null. `measured.recovered` reads a column.

    trajectory: a record of the way, named arrays whose first axis is time, stored beside the rows.
    """

    trajectory: Mapping[str, Array] | None = None

    def __getattr__(self, name: str) -> Any:
        """The value of a column of the shared vocabulary, None where it was not measured."""
        if name in self or name in COLUMNS:
            return self.get(name)
        raise AttributeError(f"no column {name!r}")

    def having(self, **columns: Scalar) -> "Measurement":
        """A copy with these columns set."""
        copy = Measurement(self, **columns)
        copy.trajectory = self.trajectory
        return copy

    def undecided(self, reason: str | None) -> "Measurement":
        """A copy without a verdict, and why there is none."""
        return self.having(verdict="undecided", certificate="none", reason=reason)

    def recording(self, trajectory: Mapping[str, Array] | None) -> "Measurement":
        """A copy with this record of the way."""
        copy = Measurement(self)
        copy.trajectory = trajectory
        return copy


class Method(Protocol):
    """How recovery is attempted: a frozen value with parameters, a pure function of an instance.

    columns: what it measures. A method may also have `check(setting, architecture)`, called for every cell before
    anything runs, which raises `ParameterError` for what it could not measure; and `setting_cost(setting)`, asked in
    place of `cost` by a method whose seconds depend on more of the setting than n and d.
    """

    columns: ClassVar[Columns]

    def __call__(self, instance: Instance, architecture: Architecture) -> Mapping[str, Scalar]:
        """The measured columns, those that it declares; one left out is null."""
        ...

    def cost(self, n: int, d: int) -> float:
        """A guess of the seconds that one trial takes, to order and batch trials; only ratios matter."""
        ...
