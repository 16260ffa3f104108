"""What a method hands back: one value a column of the row, None where the method does not measure it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from recovery.types import Array

Verdict = Literal["recovered", "not_unique", "not_optimal", "undecided"]
"""The planted weights are the unique optimum; are at best one of several; are no optimum; or none was proved."""
CertificateKind = Literal["isometry", "dual", "duplicate", "gap", "none"]


@dataclass(frozen=True)
class Measurement:
    """The measured columns of a trial's row. Distances as in P1, section VII; gaps and residuals are relative."""

    recovered: bool | None = None
    verdict: Verdict | None = None
    certificate: CertificateKind | None = None
    isometry_value: float | None = None
    max_deviation: float | None = None
    absolute_distance: float | None = None
    test_distance: float | None = None
    objective: float | None = None
    dual_objective: float | None = None
    gap: float | None = None
    primal_residual: float | None = None
    dual_violation: float | None = None
    cone_violation: float | None = None
    active_groups: int | None = None
    pattern_count: int | None = None
    all_ones: bool | None = None
    solver: str | None = None
    iterations: int | None = None
    redraws: int | None = None
    support_recovered: bool | None = None
    training_loss: float | None = None
    population_loss: float | None = None
    gradient_norm: float | None = None
    weight_error: float | None = None
    group_error: float | None = None
    pairing_error: float | None = None
    merged_neurons: int | None = None
    equal_signs: bool | None = None
    stopped: str | None = None
    convex_recovered: bool | None = None
    convex_distance: float | None = None
    holds: bool | None = None
    isometry_margin: float | None = None
    attained_by: int | None = None
    frequency: float | None = None
    predicted: float | None = None
    bound: float | None = None
    z_score: float | None = None

    def as_row(self) -> dict[str, object]:
        """Column name -> value, for every measured column."""
        return {field.name: getattr(self, field.name) for field in fields(Measurement)}


@dataclass(frozen=True)
class Recorded(Measurement):
    """A measurement with a record of the way to it: named arrays whose first axis is time, stored beside the rows."""

    trajectory: Mapping[str, Array] | None = None
