"""Inner problems: derivatives against finite differences, their descent, and proofs by the dual search."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear
from recovery.methods.cascade import BEFORE_SOLVING, State, decide
from recovery.methods.convex import PlantedProgram
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.exact import ExactProgram
from recovery.programs.projections import Projections
from recovery.solvers.controls import CONES, GATED, Controls
from recovery.solvers.families import ConeFamily, Family, GatedFamily
from recovery.solvers.inner import Inner
from recovery.solvers.proximal_newton import StepControl, near_rows
from recovery.types import Array, Mask


def _inner(architecture: str, kind: str, seed: int) -> tuple[list[Inner], Array]:
    """Inner problems of a gated and an exact program with weights, and a lam."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((14, 3)) if kind == "Gaussian" else rng.integers(-2, 3, (14, 3)).astype(float)
    patterns = np.unique(X @ rng.standard_normal((3, 8)) >= 0, axis=1)
    program = ExactProgram(replace(ARCHITECTURES[architecture].groups(X, patterns), confined=False), X[:, 0])
    groups, lam = program.groups, rng.standard_normal(14)
    bound = 0.4 * float(groups.dual_norms(lam).max())
    cones = Projections(groups, program.group(program.members), bound)
    families: list[Family] = [
        GatedFamily(groups, np.arange(groups.count), bound, GATED.close),
        ConeFamily(program, program.members, cones),
    ]
    inners = []
    for family, k in zip(families, (groups.count, len(program.members)), strict=True):
        W = 0.1 * bound * rng.standard_normal((k, groups.rank))
        inners.append(Inner(family, program.y, W, 2.0, GATED, 1.0, 0.3, rng.standard_normal(14)))
    return inners, lam


@pytest.mark.parametrize("architecture", ["relu", "relu_skip", "relu_norm", "relu_norm_skip"])
@pytest.mark.parametrize("kind", ["Gaussian", "whole"])
def test_gradient_and_hessian_are_those_of_phi(architecture: str, kind: str) -> None:
    inners, lam = _inner(architecture, kind, 3)
    for inner in inners:
        family, step = inner.family, 1e-6
        point = inner.at(lam, family.images(lam))
        H = np.tril(family.hessian(point.active, inner.s, False))
        H = H + np.tril(H, -1).T + (inner.delta + inner.weight) * np.eye(14)
        for e in np.random.default_rng(0).standard_normal((3, 14)):
            ahead, behind = (inner.at(lam + t * e, family.images(lam + t * e)) for t in (step, -step))
            slope = float(point.gradient @ e)
            assert (ahead.value - behind.value) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-6)
            change = (ahead.gradient - behind.gradient) / (2 * step)
            assert change == pytest.approx(H @ e, rel=1e-4, abs=1e-5 * np.abs(H).max())


@pytest.mark.parametrize("architecture", ["relu", "relu_skip", "relu_norm", "relu_norm_skip"])
def test_slopes_along_a_step_are_those_of_phi_or_below(architecture: str) -> None:
    inners, lam = _inner(architecture, "Gaussian", 5)
    for inner, exact in zip(inners, (True, False), strict=True):
        family, e = inner.family, np.random.default_rng(1).standard_normal(14)
        point, image = inner.at(lam, family.images(lam)), family.images(e)
        slopes = family.slopes(point.Z, inner.s * image, inner.s)
        for t in (0.0, 0.3, 1.0):
            active = family.project(point.Z + t * inner.s * image, inner.s)
            true = float((active.norms - inner.s * family.bound) @ (active.labels @ e))
            assert slopes(t) <= true + 1e-9 * abs(true)
            assert not exact or slopes(t) == pytest.approx(true, rel=1e-9)


def test_an_inner_problem_ends_at_its_tolerance_and_only_descends() -> None:
    for architecture in ("relu", "relu_norm"):
        for inner in _inner(architecture, "Gaussian", 7)[0]:
            lam = np.zeros(14)
            first = inner.at(lam, inner.family.images(lam))
            last = inner.minimise(lam, inner.family.images(lam), 1e-9)
            assert last is not None
            assert last.size <= 1e-9
            assert last.value < first.value


@pytest.mark.parametrize("controls", [GATED, CONES])
def test_a_step_grows_after_a_success_and_falls_after_failures_in_a_row(controls: Controls) -> None:
    control = StepControl(s=1.0, weight=1.0, least=0.1, longest=100.0)
    grown = control.after(True, 1, controls)
    assert grown.s == controls.growth
    assert grown.weight == 1.0 / controls.decay
    assert control.after(True, controls.hard + 1, controls).s == controls.hard_growth
    for _ in range(controls.patience):
        control = control.after(False, 1, controls)
        assert control.s == 1.0
    assert control.after(False, 1, controls).s == controls.retreat
    assert control.after(True, 1, controls).failed == 0


def test_screening_keeps_weights_and_norms_near_the_bound() -> None:
    controls = replace(GATED, smallest=1, reach=1.0, few=1.0)
    norms, always = np.array([0.2, 0.95, 0.85, 1.02]), np.array([True, False, False, False])
    assert near_rows(controls, norms, always, 0.1, 1.0).tolist() == [0, 1, 3]
    assert near_rows(controls, norms, always, 0.1, 0.5).tolist() == [0, 3]
    assert near_rows(controls, norms, always, np.inf, 1.0).tolist() == [0, 1, 2, 3]
    everyone: Mask = np.ones(4, dtype=np.bool_)
    assert near_rows(controls, norms, everyone, 0.0, 0.1).tolist() == [0, 1, 2, 3]
    # with cones, a step that moved no norm does not leave the next one alone with the groups of weight
    assert near_rows(CONES, norms, ~everyone, 0.0).tolist() == [1, 2, 3]


def test_cones_prove_recoveries_without_a_solve_that_gated_norms_cannot_prove() -> None:
    """With few more rows than variables, cones are needed to prove that the linear neuron is unique."""
    proved = 0
    for seed in range(12):
        instance = draw(Setting(24, 18, planted=Linear()), np.random.default_rng(seed))
        relu_skip = ARCHITECTURES["relu_skip"]
        problems = (PlantedProgram.of(instance, relu_skip, kind) for kind in ("exact", "gated"))
        exact, gated = (decide(problem, BEFORE_SOLVING, State()).decision for problem in problems)
        if exact.certificate == "dual" and exact.verdict == "recovered" and gated.verdict != "recovered":
            assert exact.proof is not None
            assert exact.proof.certificate.proves_optimal
            assert MinNorm(program="exact")(instance, relu_skip)["recovered"]
            proved += 1
    assert proved > 0
