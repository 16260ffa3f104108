"""The regularisation path: each point is certified and agrees with a cold solve."""

import numpy as np
import pytest

import recovery
from recovery.errors import ParameterError
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.program import GatedProgram
from recovery.solvers.newton import solve_newton
from recovery.solvers.path import largest_beta, solve_path
from tests.solvers.instances import small_program


@pytest.mark.parametrize("seed", range(0, 56))
def test_every_point_has_the_objective_of_a_solve_from_nothing(seed: int) -> None:
    program = small_program(seed)
    groups, y = program.groups, program.y
    top = largest_beta(groups, y)
    if top == 0.0:
        assert not y.any() or not groups.count
        return
    betas = top * np.array([1.0, 0.5, 0.1, 0.11, 1e-2, 1e-4, 1.5, 0.5])
    points = list(solve_path(groups, y, betas))
    assert [point.beta for point in points] == sorted(betas, reverse=True)
    for point in points:
        alone = GatedProgram(groups, y, point.beta)
        reference = certify(alone, solve_newton(alone))
        again = certify(alone, point.solution)
        assert again == point.certificate
        # both bound the same optimum
        assert point.certificate.gap <= max(1e-9, 2 * reference.gap)
        least, most = sorted([point.certificate.objective, reference.objective])
        assert most - least <= (abs(point.certificate.gap) + abs(reference.gap)) * most + 1e-13 * most
        if abs(point.beta / top - 1) > 1e-6:
            assert point.solution.W.any() == (point.beta < top)


def test_the_units_of_the_labels_do_not_matter() -> None:
    program = small_program(2)
    groups, y = program.groups, program.y
    betas = largest_beta(groups, y) * np.geomspace(0.9, 1e-3, 10)
    plain = list(solve_path(groups, y, betas))
    for unit in (1e-9, 1e9):
        for point, scaled in zip(plain, solve_path(groups, unit * y, unit * betas), strict=True):
            assert scaled.certificate.gap <= 1e-9
            assert np.isclose(scaled.certificate.objective, unit**2 * point.certificate.objective, rtol=1e-8)


def test_labels_that_no_group_sees_have_a_path_of_zeros() -> None:
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 1.0]])
    groups = ARCHITECTURES["relu"].groups(X, np.array([[True], [False], [True]]))
    y = np.array([0.0, 3.0, 0.0])
    assert largest_beta(groups, y) == 0.0
    points = list(solve_path(groups, y, [1.0, 0.1]))
    assert not any(point.solution.W.any() for point in points)
    assert [point.certificate.gap for point in points] == [0.0, 0.0]
    assert list(solve_path(groups, y, [])) == []


@pytest.mark.parametrize("beta", [0.0, -1.0, float("nan"), float("inf")])
def test_an_impossible_beta_is_refused_before_anything_is_solved(beta: float) -> None:
    program = small_program(2)
    with pytest.raises(ParameterError, match="beta must be positive"):
        recovery.solve_path(program.groups, program.y, [1.0, beta])


def test_a_path_takes_fewer_steps_than_its_solves() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 10))
    y = np.maximum(X @ rng.standard_normal(10), 0) + 0.1 * rng.standard_normal(80)
    groups = ARCHITECTURES["relu"].groups(X, np.unique(X @ rng.standard_normal((10, 100)) >= 0, axis=1))
    betas = largest_beta(groups, y) * np.geomspace(0.9, 1e-3, 20)
    path = sum(point.solution.iterations for point in solve_path(groups, y, betas))
    alone = sum(solve_newton(GatedProgram(groups, y, beta)).iterations for beta in betas)
    assert path <= 0.9 * alone
