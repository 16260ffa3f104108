"""Networks of convex weights: predictions, objectives, merging and splitting."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.exact import ExactProgram
from recovery.programs.networks import Network, merge, network_of
from recovery.solvers.cones import solve_cones
from recovery.types import Array
from tests.solvers.instances import drawn, wide_program


def _solved(architecture: str, n: int = 12, d: int = 4) -> tuple[ExactProgram, Array, Array]:
    instance = drawn(architecture, n, d, seed=7)
    program = wide_program(architecture, instance, 0.01)
    return program, solve_cones(program).W, instance.X


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(("n", "d"), [(12, 4), (6, 8)])
def test_the_network_of_an_optimum_has_its_outputs_and_its_objective(architecture: str, n: int, d: int) -> None:
    program, V, X = _solved(architecture, n, d)
    network = network_of(program, V, ARCHITECTURES[architecture])
    scale = float(np.linalg.norm(program.y))
    assert np.abs(network.predict(X) - program.forward(V)).max() <= 1e-7 * scale
    assert network.objective(X, program.y, 0.01) == pytest.approx(program.objective(V), rel=1e-6)


def _split(network: Network, i: int, share: float) -> Network:
    """Split neuron i into two, with `share` of its size and the rest (Appendix A)."""
    roots = np.sqrt([share, 1 - share])
    if network.scale is None:
        inner = np.vstack([network.inner, network.inner[i] * roots[1]])
        inner[i] *= roots[0]
        scale = None
    else:
        inner = np.vstack([network.inner, 3.0 * network.inner[i]])
        scale = np.append(network.scale, network.scale[i] * roots[1])
        scale[i] *= roots[0]
    outer = np.append(network.outer, network.outer[i] * roots[1])
    outer[i] *= roots[0]
    return replace(network, inner=inner, outer=outer, scale=scale)


def _ordered(network: Network, order: Array) -> Network:
    scale = None if network.scale is None else network.scale[order]
    return replace(network, inner=network.inner[order], outer=network.outer[order], scale=scale)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_permutation_and_splitting_leave_a_network_the_same(architecture: str) -> None:
    program, V, X = _solved(architecture)
    network = network_of(program, V, ARCHITECTURES[architecture])
    other = _split(_split(network, 0, 0.3), 0, 0.6)
    other = _ordered(other, np.random.default_rng(0).permutation(len(other.outer)))
    one, two = (_ordered(each, np.argsort(each.sizes())) for each in map(merge, (network, other)))
    assert one.inner == pytest.approx(two.inner, abs=1e-9)
    assert one.sizes() == pytest.approx(two.sizes(), rel=1e-9)
    fresh = np.random.default_rng(1).standard_normal((20, X.shape[1]))
    assert other.predict(fresh, X) == pytest.approx(network.predict(fresh, X), abs=1e-10)
    assert merge(other).penalty() == pytest.approx(network.penalty(), rel=1e-8)


def test_predictions_add_the_two_signs_and_the_skip_connection() -> None:
    program, V, _ = _solved("relu_skip")
    p = program.groups.count
    X = np.random.default_rng(2).standard_normal((9, V.shape[1]))
    expected = X @ V[0] + np.maximum(X @ V[1:p].T, 0).sum(axis=1) - np.maximum(X @ V[p + 1 :].T, 0).sum(axis=1)
    assert network_of(program, V, ARCHITECTURES["relu_skip"]).predict(X) == pytest.approx(expected, abs=1e-6)
