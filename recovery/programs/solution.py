"""What a solver hands back. It knows no solver, and nothing in it is a proof: see `recovery.programs.certificate`."""

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from recovery.types import Array, Index


class Outcome(Enum):
    """How a solve ended; the value says it to the user."""

    SOLVED = "solved to the tolerance asked for"
    NEARLY_SOLVED = "stopped near a solution, short of the tolerance asked for"
    INFEASIBLE = "no weights fit the labels: y is outside the range of the groups"
    NUMERICAL_TROUBLE = "stopped by rounding errors"
    ITERATION_LIMIT = "stopped at the iteration limit"


@dataclass(frozen=True)
class Multipliers:
    """Multipliers mu >= 0 (k, n) of the cones' rows, for the signed groups `chosen` (k,) of an exact program."""

    chosen: Index
    values: Array

    @classmethod
    def none(cls, n: int) -> "Multipliers":
        return cls(np.empty(0, dtype=np.intp), np.empty((0, n)))


@dataclass(frozen=True)
class Solution:
    """Weights W as the program has them, dual lam (n,), how the solve ended, its steps, and what ran.

    multipliers: of an exact program, those that help to bound the dual's projections; others are 0.
    """

    W: Array
    lam: Array
    outcome: Outcome = Outcome.SOLVED
    iterations: int = 0
    solver: str = "given"
    multipliers: Multipliers = field(default_factory=lambda: Multipliers.none(0))

    def unbalanced(self, scales: Array) -> "Solution":
        """A solution of a balanced program as one of the program whose rows were divided by `scales` (n,)."""
        given = self.multipliers
        values = given.values / scales if len(given.chosen) else given.values
        return replace(self, lam=self.lam / scales, multipliers=Multipliers(given.chosen, values))
