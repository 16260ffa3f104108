"""The global optimum of the training problem of an instance, proved by the exact program over all patterns.

1/2 ||f - y||^2 + beta/2 ||theta||^2, least over all parameters and all widths, is the optimum of the exact program (P1,
(9) and (11), Theorems 3 and 4). So the program decides how far a trained network is from the best one.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import select
from recovery.methods.convex import PlantedProgram
from recovery.methods.generation import optimum_over_all
from recovery.methods.method import Measurement
from recovery.methods.representation import prediction
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import active_groups
from recovery.training.models import Empirical, Parameters, predict
from recovery.training.stationarity import stationarity
from recovery.types import Array

KEPT = 1000
"""Optima of draws that a process keeps: one for all widths, starts and optimisers that are tried on a draw."""

EXCESS = select(
    *("excess", "excess_low", "excess_high", "optimum", "optimum_gap", "optimum_neurons", "optimum_test_distance"),
    *("function_distance", "stationarity"),
)
"""Columns of a training run that is compared with the global optimum."""


@dataclass(frozen=True)
class Optimum:
    """Objective of the best network, a proved lower bound, its number of neurons, its predictions on the test draw."""

    objective: float
    lower: float
    neurons: int
    predicted: Array | None


@dataclass(frozen=True)
class _Draw:
    """A cache key: an instance that equals another with the same data, architecture and penalty."""

    key: Hashable
    instance: Instance = field(compare=False, repr=False)
    architecture: Architecture
    beta: float


def check_excess(setting: Setting, architecture: Architecture) -> None:
    """Refuse settings whose optimum over all patterns is not known. Raises `ParameterError`."""
    if architecture.normalized:
        raise ParameterError(f"method.excess is not known for normalised neurons, found architecture {architecture}")
    if setting.patterns.kind != "all":
        raise ParameterError(f"method.excess needs patterns: {{kind: all}}, found {setting.patterns.kind}")


def optimum(instance: Instance, architecture: Architecture, beta: float) -> Optimum:
    """Return the optimum of the training problem of an instance; each draw is solved once per process."""
    return _optimum(_Draw((instance.X.tobytes(), instance.y.tobytes()), instance, architecture, beta))


@lru_cache(maxsize=KEPT)
def _optimum(draw: _Draw) -> Optimum:
    problem = PlantedProgram.of(draw.instance, draw.architecture, "exact", draw.beta)
    problem, solution, certificate, _ = optimum_over_all(problem, "auto")
    test, W = draw.instance.test, solution.W
    return Optimum(
        certificate.objective,
        certificate.dual_objective,
        int(active_groups(problem.program.norms(W)[int(problem.program.groups.linear) :]).sum()),
        None if test is None else prediction(problem.program, W, draw.architecture, test),
    )


def with_excess(
    row: Measurement, instance: Instance, parameters: Parameters, loss: Empirical, beta: float
) -> Measurement:
    """Return the row of a trained network with the columns `EXCESS`, for these parameters and this regularised loss."""
    best = optimum(instance, parameters.architecture, beta)
    reached = loss(parameters, parameters.like())
    row = row.having(
        excess=reached / best.objective - 1.0,
        excess_low=max(reached / best.objective - 1.0, 0.0),
        excess_high=reached / best.lower - 1.0 if best.lower > 0 else None,
        optimum=best.objective,
        optimum_gap=1.0 - best.lower / best.objective,
        optimum_neurons=best.neurons,
        stationarity=stationarity(loss, parameters),
    )
    if best.predicted is None or instance.test is None:
        return row
    return row.having(
        optimum_test_distance=float(np.linalg.norm(best.predicted - instance.planted.labels(instance.test))),
        function_distance=float(np.linalg.norm(best.predicted - predict(parameters, instance.test)[:, 0])),
    )
