"""The network of a trial with two inputs, recorded for its drawing: f(x) = linear.x + sum_i sizes_i (neurons_i.x)_+."""

from collections.abc import Mapping

import numpy as np

from recovery.methods.convex import PlantedProgram
from recovery.programs.networks import merge, network_of
from recovery.types import Array


def fitted_network(problem: PlantedProgram, V: Array) -> Mapping[str, Array] | None:
    """Record of weights V of an exact program in two dimensions; None elsewhere, and for normalised neurons.

    `data` (1, n, 2), `labels` (1, n), `neurons` (1, m, 2), `sizes` (1, m), `linear` (1, 2), as
    `recovery.report.figures.surface` draws them.
    """
    architecture, instance = problem.architecture, problem.instance
    plain = architecture.normalization == "none" and architecture.slope == 0.0
    if not problem.program.has_cones or not plain or instance.X.shape[1] != 2 or problem.program.groups.rank != 2:
        return None
    small = merge(network_of(problem.program, V, architecture))
    unit = small.inner / np.linalg.norm(small.inner, axis=1, keepdims=True)
    return {
        "data": instance.X[None],
        "labels": instance.y[None],
        "neurons": unit[None],
        "sizes": small.sizes()[None],
        "linear": np.zeros((1, 2)) if small.skip is None else small.skip[None],
    }
