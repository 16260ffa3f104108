import numpy as np
import pytest
from hypothesis import given, strategies as st

from recovery.errors import ParameterError
from recovery.instances.patterns import unique_patterns
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Solution


def a_program(seed, beta=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 3))
    groups = ARCHITECTURES["relu_skip"].groups(X, unique_patterns(X, [X @ rng.standard_normal((3, 8)) >= 0]))
    W = rng.standard_normal((groups.count, 3)) * (rng.random((groups.count, 1)) < 0.5)
    return rng, GatedProgram(groups, groups.forward(W), beta), W


@given(st.integers(0, 500), st.sampled_from([None, 0.1, 10.0]))
def test_weak_duality_holds_for_every_dual(seed, beta):
    rng, program, W = a_program(seed, beta)
    lam = rng.standard_normal(10) * 10 ** rng.uniform(-3, 3)
    certificate = certify(program, Solution(W, lam))
    assert certificate.dual_objective <= certificate.objective * (1 + 1e-12)
    assert certificate.gap >= -1e-12
    assert not certificate.proves_optimal or certificate.gap <= 1e-8


@given(st.integers(0, 100))
def test_nothing_changes_when_labels_are_scaled(seed):
    rng, program, W = a_program(seed)
    lam = rng.standard_normal(10)
    first = certify(program, Solution(W, lam))
    second = certify(GatedProgram(program.groups, 1e5 * program.y), Solution(1e5 * W, lam))
    assert second.gap == pytest.approx(first.gap, rel=1e-9)
    assert second.active_groups == first.active_groups


def test_weights_that_do_not_fit_are_not_optimal():
    _, program, W = a_program(1)
    assert certify(program, Solution(1.1 * W, np.zeros(10))).primal_residual == pytest.approx(0.1)
    assert not certify(program, Solution(1.1 * W, np.zeros(10))).proves_optimal


def test_programs_refuse_labels_of_the_wrong_shape_and_negative_penalties():
    _, program, _ = a_program(2)
    with pytest.raises(ParameterError, match="shape"):
        GatedProgram(program.groups, np.zeros(3))
    with pytest.raises(ParameterError, match="beta"):
        GatedProgram(program.groups, program.y, -1.0)
