"""What a solver hands back. It knows no solver, and nothing in it is a proof: see `recovery.programs.certificate`."""

from dataclasses import dataclass
from enum import Enum

from recovery.types import Array


class Status(Enum):
    """How a solve ended; the value says it to the user."""

    SOLVED = "solved to the tolerance asked for"
    NEARLY_SOLVED = "stopped near a solution, short of the tolerance asked for"
    INFEASIBLE = "no weights fit the labels: y is outside the range of the groups"
    NUMERICAL_TROUBLE = "stopped by rounding errors"
    ITERATION_LIMIT = "stopped at the iteration limit"


@dataclass(frozen=True)
class Solution:
    """Weights W (p, r), dual lam (n,), status and iterations; `solver` names what ran."""

    W: Array
    lam: Array
    status: Status
    iterations: int
    solver: str
