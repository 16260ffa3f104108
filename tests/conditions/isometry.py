"""The condition and the sums of the library, from plain arrays."""

import numpy as np

from recovery.conditions.neural_isometry import Condition, PlantedDual, planted_dual
from recovery.conditions.planes import RowSum
from recovery.instances.planted import Neurons
from recovery.programs.architecture import Architecture
from recovery.types import Array, Mask


def dual(architecture: Architecture, X: Array, W: Array, signs: Array, *, linear: bool) -> PlantedDual:
    return planted_dual(architecture, X, Neurons("linear" if linear else "relu", W, signs))


def neural_isometry(
    architecture: Architecture, X: Array, W: Array, signs: Array, patterns: Mask, *, linear: bool
) -> Condition:
    return dual(architecture, X, W, signs, linear=linear).over(patterns)


def row_sum(rows: Array, weights: Array, linear: Array | None = None) -> RowSum:
    return RowSum(rows, weights, np.zeros(rows.shape[1]) if linear is None else linear)
