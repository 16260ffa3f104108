"""The convex optimum of an instance, beside which a trained network is put: the same X, y and patterns."""

from typing import Literal

import numpy as np

from recovery.instances.draw import Instance
from recovery.methods.min_norm import MinNorm
from recovery.programs.certificate import certify
from recovery.programs.groups import groups_of
from recovery.programs.program import Program
from recovery.solvers.table import SOLVERS
from recovery.types import Array

Comparison = Literal["none", "verdict", "optimum"]


def convex_verdict(instance: Instance, architecture: str) -> bool | None:
    """Whether the planted weights are the unique optimum of the gated minimum-norm program; None if undecided."""
    return MinNorm()(instance, architecture).recovered


def convex_prediction(instance: Instance, architecture: str) -> Array | None:
    """The optimum's predictions on the test draw, X w_0 + sum_j (X w_j)_+, shape (n,) (P1, section VII).

    None without a test draw, for normalised architectures (their weights belong to the training data), and where no
    solver certified an optimum.
    """
    groups, test = groups_of(architecture, instance.X, instance.patterns), instance.test
    if test is None or groups.transforms is not None:
        return None
    program = Program(groups, instance.y)
    solution = SOLVERS["auto"](program)
    if not certify(program, solution.W, solution.lam).proves_optimal:
        return None
    first = int(groups.linear)
    values = np.maximum(test @ solution.W[first:].T, 0.0).sum(axis=1)
    return values + test @ solution.W[0] if groups.linear else values
