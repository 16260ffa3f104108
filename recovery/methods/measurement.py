"""What a method hands back: one value a column of the row, None where the method does not measure it."""

from dataclasses import dataclass, fields
from typing import Literal

Verdict = Literal["recovered", "not_unique", "not_optimal", "undecided"]
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
    active_groups: int | None = None
    pattern_count: int | None = None
    all_ones: bool | None = None
    solver: str | None = None
    iterations: int | None = None
    redraws: int | None = None

    def as_row(self) -> dict[str, object]:
        """Column name -> value, for every measured column."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
