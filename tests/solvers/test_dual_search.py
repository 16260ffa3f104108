"""The dual search on cones of exact programs: derivatives against finite differences, and its proofs."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear
from recovery.methods.convex import PlantedProgram
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.exact import ExactProgram
from recovery.solvers.dual_search import ExactPenalty, GatedPenalty

NONE = np.empty(0, dtype=np.intp)


@pytest.mark.parametrize("architecture", ["relu", "relu_skip", "relu_norm", "relu_norm_skip"])
@pytest.mark.parametrize("kind", ["Gaussian", "whole"])
def test_gradient_and_hessian_are_those_of_the_penalty(architecture: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((14, 3)) if kind == "Gaussian" else rng.integers(-2, 3, (14, 3)).astype(float)
    patterns = np.unique(X @ rng.standard_normal((3, 8)) >= 0, axis=1)
    program = ExactProgram(replace(ARCHITECTURES[architecture].groups(X, patterns), confined=False), X[:, 0])
    lam, step = rng.standard_normal(14), 1e-6
    size = float(program.groups.adjoint_norms(lam).max())
    for phi in (ExactPenalty(program, NONE, 0.4 * size), GatedPenalty(program.groups, NONE, 0.4 * size)):
        point = phi.at(phi.images(lam))
        assert point.value > 0
        H = phi.hessian(point)
        for e in rng.standard_normal((3, 14)):
            ahead, behind = (phi.at(phi.images(lam + sign * step * e)) for sign in (1, -1))
            assert (ahead.value - behind.value) / (2 * step) == pytest.approx(float(point.gradient @ e), rel=1e-5)
            change = (ahead.gradient - behind.gradient) / (2 * step)
            assert change == pytest.approx(H @ e, rel=1e-4, abs=1e-5 * size)


def test_cones_prove_recoveries_without_a_solve_that_gated_norms_cannot_prove() -> None:
    """With few more rows than variables, cones are needed to prove that the linear neuron is unique."""
    proved = 0
    for seed in range(12):
        instance = draw(Setting(24, 18, planted=Linear()), np.random.default_rng(seed))
        relu_skip = ARCHITECTURES["relu_skip"]
        exact, gated = (PlantedProgram.of(instance, relu_skip, kind).cascade.decide() for kind in ("exact", "gated"))
        if exact.certificate == "dual" and exact.verdict == "recovered" and gated.verdict != "recovered":
            assert exact.proof is not None
            assert exact.proof.certificate.proves_optimal
            assert MinNorm(program="exact")(instance, relu_skip)["recovered"]
            proved += 1
    assert proved > 0
