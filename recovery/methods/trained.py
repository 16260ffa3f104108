"""Measurements of a trained network on an instance, and the trajectory that is recorded while it is trained.

The columns `EXCESS` compare it with the global optimum. 1/2 ||f - y||^2 + beta/2 ||theta||^2, least over all parameters
and all widths, is the optimum of the exact program over all patterns (P1, (9) and (11), Theorems 3 and 4).
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from recovery.instances.draw import Instance
from recovery.instances.ensembles import Standard
from recovery.instances.planted import Neurons
from recovery.methods.columns import select
from recovery.methods.method import Measurement
from recovery.methods.own_data import OptimalNetwork, optimum
from recovery.methods.representation import test_distance
from recovery.programs.architecture import Architecture
from recovery.training.descent import Descent
from recovery.training.models import Empirical, Parameters, predict
from recovery.training.passes import SMALLEST_NORM
from recovery.training.population import Population
from recovery.training.trained_neurons import count_merged, group_error, pairing, stationarity, weight_error
from recovery.types import Array, Rng

MEASURED = select(
    *("recovered", "absolute_distance", "test_distance", "iterations", "stopped", "training_loss", "population_loss"),
    *("gradient_norm", "weight_error", "group_error", "pairing_error", "merged_neurons", "equal_signs", "redraws"),
    *("convex_recovered",),
)
"""Columns of a trained network, of which a method measures those that apply."""
DIVERGED = "training diverged"
"""Reason why a row lacks values."""
MOST_PAIRED = 64
"""Largest number of neurons for which pairs are measured."""
MOST_IN_CLOSED_FORM = 1000
"""Largest number of neurons for which the population loss is measured; its cost is quadratic in this number."""


def targets(instance: Instance, outputs: int) -> Array | None:
    """Return A (r, d) of the labels A x: the planted direction, or e_1..e_r for r > 1; None for ReLU labels."""
    if outputs > 1:
        return np.eye(outputs, instance.X.shape[1])
    planted = instance.planted
    if not isinstance(planted, Neurons) or not planted.linear:
        return None
    return (planted.directions * planted.signs).T


def observer(rng: Rng, directions: Array) -> Callable[[Parameters], dict[str, Array]]:
    """Return the function that records a point of a trajectory.

    It records `inner` (k, p + 1), the products of the inner weights of the k neurons with the rows of `directions`
    (p, d) and with a random unit vector, orthogonal to them if d > p; `outer` (k, r), the outer layer; and `sum_norm`,
    ||sum_i ||v_i|| w_i||.
    """
    p, d = directions.shape
    basis = np.linalg.qr(directions.T)[0] if p < d else np.empty((d, 0))
    free = rng.standard_normal((1, d))
    free -= (free @ basis) @ basis.T
    plane = np.vstack([directions, free / np.linalg.norm(free)])

    def observe(parameters: Parameters) -> dict[str, Array]:
        W, V = (np.asarray(parameters[name], np.float64) for name in ("W", "V"))
        return {
            "inner": W @ plane.T,
            "outer": V.copy(),
            "sum_norm": np.array(np.linalg.norm(np.linalg.norm(V, axis=1) @ W)),
        }

    return observe


def measure(
    instance: Instance, descent: Descent, start: Parameters, A: Array | None, outer: Array | None, success: float
) -> Measurement:
    """Return the columns of a trained network. A diverged run has only its finite columns, and `recovered` is null.

    start: the initial parameters. A (r, d): linear targets or None. outer: the fixed outer layer or None. success: the
    largest relative error at which the planted function counts as recovered.
    """
    first = start["V"]
    row = Measurement(
        iterations=descent.epochs,
        stopped=descent.stop,
        training_loss=_finite(descent.loss),
        gradient_norm=_finite(descent.gradient_norm),
        redraws=instance.planted.redraws,
        equal_signs=bool(abs(np.sign(first).sum()) == len(first)) if first.shape[1] == 1 else None,
    ).recording(descent.record or None)
    if descent.stop == "diverged":
        row.unmeasured = dict.fromkeys(MEASURED.keys() - row.keys(), DIVERGED)
        return row
    parameters = Parameters(start.architecture, descent.parameters.flat.astype(np.float64), start.shapes)
    W, V = parameters["W"], parameters["V"]
    relative = None
    test = instance.test
    if test is not None:
        planted = instance.planted.labels(test)[:, None] if V.shape[1] == 1 or A is None else test @ A.T
        row["test_distance"] = float(np.linalg.norm(predict(parameters, test) - planted))
        size = float(np.linalg.norm(planted))
        # `size` is 0 if no planted neuron is active on a test row: no relative error then
        relative = row.test_distance / size if size else None
    inputs = start.architecture.features(instance.X)
    row["merged_neurons"] = count_merged(parameters, inputs)
    row["absolute_distance"] = _absolute_distance(instance, parameters, A)
    if len(W) <= MOST_PAIRED:
        row["pairing_error"] = pairing(W, V)[1]
    else:
        row.unmeasured["pairing_error"] = f"it is measured for at most {MOST_PAIRED} neurons"
    if A is not None and start.architecture.plain and not start.architecture.own_features:
        size = float(np.linalg.norm(A))
        if isinstance(instance.setting.ensemble, Standard) and len(W) > MOST_IN_CLOSED_FORM:
            row.unmeasured["population_loss"] = f"it is measured for at most {MOST_IN_CLOSED_FORM} neurons"
        elif isinstance(instance.setting.ensemble, Standard):
            row["population_loss"] = Population(A)(parameters, parameters.like())
            relative = float(np.sqrt(2.0 * max(row.population_loss, 0.0))) / size
        row["group_error"] = group_error(W, V, A) if len(A) == 1 else None
        row["weight_error"] = weight_error(W, V, A, outer)
        if row.weight_error is not None:
            relative = row.weight_error / size
    if instance.setting.noise == 0:
        row["recovered"] = None if relative is None else relative <= success
        row.unmeasured["recovered"] = "no planted neuron is active on a row of the test draw"
    return row


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _absolute_distance(instance: Instance, parameters: Parameters, A: Array | None) -> float | None:
    """Return ||w_0 - w*|| of a skip connection, (sum_i ||w_{s_i} - w~_i||^2)^{1/2} if normalised (P1, VII); or None.

    w_{s_i} is the sum of the trained neurons with the pattern of the planted neuron w~_i. The groups of a normalised
    network are orthonormal, so the distance of weights equals the distance of their values on X.
    """
    if parameters.architecture.skip and A is not None:
        lifted = parameters.architecture.lift(A.T, instance.X).T
        return float(np.linalg.norm(parameters["a0"] @ parameters["w0"] - lifted))
    planted = instance.planted
    if not (parameters.normalized and isinstance(planted, Neurons) and planted.form == "normalized_relu"):
        return None
    Z = parameters.architecture.features(instance.X) @ parameters["W"].T
    values = np.maximum(Z, 0.0)
    values *= (parameters["gamma"] * parameters["V"][:, 0]) / np.maximum(np.linalg.norm(values, axis=0), SMALLEST_NORM)
    total = 0.0
    for direction, sign in zip(planted.directions.T, planted.signs, strict=True):
        z = instance.X @ direction
        same = ((Z > 0) == (z > 0)[:, None]).all(axis=0)
        wanted = sign * np.maximum(z, 0.0) / np.linalg.norm(np.maximum(z, 0.0))
        total += float(np.sum((values[:, same].sum(axis=1) - wanted) ** 2))
    return float(np.sqrt(total))


EXCESS = select(
    *("excess", "excess_low", "excess_high", "optimum", "optimum_gap", "optimum_neurons", "optimum_test_distance"),
    *("function_distance", "stationarity"),
)
"""Columns of a training run that is compared with the global optimum."""


def best_network(instance: Instance, architecture: Architecture, beta: float) -> OptimalNetwork:
    """Return the optimum of the training problem of an instance; each draw is solved once per process."""
    X, y = instance.X, instance.y
    return _optimum(X.tobytes(), y.tobytes(), X.shape[1], architecture, beta, instance.setting.patterns.nodes)


@lru_cache(maxsize=1000)  # all widths, starts and optimisers that are tried on a draw share its optimum
def _optimum(X: bytes, y: bytes, d: int, architecture: Architecture, beta: float, nodes: int) -> OptimalNetwork:
    return optimum(np.frombuffer(X).reshape(-1, d), np.frombuffer(y), architecture, beta, "all", nodes=nodes)


def with_excess(
    row: Measurement, instance: Instance, parameters: Parameters, loss: Empirical, beta: float
) -> Measurement:
    """Return the row of a trained network with the columns `EXCESS`, for these parameters and this regularised loss."""
    best = best_network(instance, parameters.architecture, beta)
    reached = loss(parameters, parameters.like())
    low, high = best.excess(reached)
    row = row.having(
        excess=reached / best.objective - 1.0,
        excess_low=low,
        excess_high=_finite(high),
        optimum=best.objective,
        optimum_gap=1.0 - best.lower / best.objective,
        optimum_neurons=len(best.network.inner),
        stationarity=stationarity(loss, parameters),
    )
    row.unmeasured["excess_high"] = "the proved lower bound is 0"
    if instance.test is None:
        return row
    apart = best.network.predict(instance.test) - predict(parameters, instance.test)[:, 0]
    distance = test_distance(instance, best.network.predict)
    return row.having(optimum_test_distance=distance, function_distance=float(np.linalg.norm(apart)))
