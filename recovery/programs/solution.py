"""The result of a solver. It does not depend on solvers and proves nothing: see `recovery.programs.certificate`."""

from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from recovery.types import Array, Index


class Outcome(Enum):
    """How a solve ended. Rows store the text of the value in their reason."""

    SOLVED = "solved to the tolerance asked for"
    NEARLY_SOLVED = "stopped near a solution, short of the tolerance asked for"
    INFEASIBLE = "no weights fit the labels: y is outside the range of the groups"
    NUMERICAL_TROUBLE = "stopped by rounding errors"
    ITERATION_LIMIT = "stopped at the iteration limit"


@dataclass(frozen=True)
class Multipliers:
    """Multipliers mu >= 0 (k, n) of the rows of the cones of the signed groups `chosen` (k,) of an exact program."""

    chosen: Index
    values: Array

    @classmethod
    def none(cls, n: int) -> "Multipliers":
        return cls(np.empty(0, dtype=np.intp), np.empty((0, n)))


@dataclass(frozen=True)
class Solution:
    """Weights W in the program's layout, dual lam (n,), outcome, number of steps, and the name of the solver.

    multipliers: for an exact program, those that bound the projections at lam; all others are 0.
    """

    W: Array
    lam: Array
    outcome: Outcome = Outcome.SOLVED
    iterations: int = 0
    solver: str = "given"
    multipliers: Multipliers = field(default_factory=lambda: Multipliers.none(0))

    @classmethod
    def zero(cls, shape: tuple[int, int], y: Array, interpolates: bool, solver: str) -> "Solution":
        """Return zero weights of this shape: the solution if y is zero, or if all weights give zero labels."""
        if interpolates:
            return cls(np.zeros(shape), np.zeros(len(y)), Outcome.INFEASIBLE if y.any() else Outcome.SOLVED, 0, solver)
        return cls(np.zeros(shape), y, Outcome.SOLVED, 0, solver)  # the dual optimum is the residual

    def unbalanced(self, scales: Array) -> "Solution":
        """Convert a solution of the balanced program to the original one, whose rows were divided by `scales` (n,)."""
        given = self.multipliers
        values = given.values / scales if len(given.chosen) else given.values
        return replace(self, lam=self.lam / scales, multipliers=Multipliers(given.chosen, values))
