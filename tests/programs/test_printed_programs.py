"""Optima of P1's programs against the printed formulas in cvxpy, on the same X, y and patterns.

(6) and (14) are written with ||w_0|| in the objective, as (15) and (25) have it; in print they lack it.
"""

from collections.abc import Callable
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from benchmarks.verdicts import KINDS
from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting, draw
from recovery.instances.patterns import Patterns, unique_patterns
from recovery.instances.planted import Linear, NormalizedRelu, Relu
from recovery.methods.convex import PlantedProgram
from recovery.methods.min_norm import MinNorm, Regularized
from recovery.methods.representation import planted_neurons
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.exact import ExactProgram
from recovery.programs.program import GatedProgram
from recovery.solvers.table import SOLVERS, find_solver
from recovery.types import Array, Mask, Rng
from tests.suites import first

TIGHT = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
INSTANCES = 20
Blocks = list[tuple[Array, Array | None]]
"""Each group's operator, and the matrix whose products with both copies must be >= 0; None for a single copy."""


def plain(X: Array, D: Mask, exact: bool) -> Blocks:
    """(12), sum D_j X w_j."""
    return with_skip(X, D, exact)[1:]


def with_skip(X: Array, D: Mask, exact: bool) -> Blocks:
    """(15), X W_0 + sum D_j X W_j, and (11), with two copies in their cones."""
    cones = [(2.0 * p - 1.0)[:, None] * X if exact else None for p in D.T]
    return [(X, None), *((p[:, None] * X, cone) for p, cone in zip(D.T, cones, strict=True))]


def normalised(X: Array, D: Mask, exact: bool) -> Blocks:
    """(17) and (16): U_j of the compact decomposition D_j X = U_j S_j V_j^T, and (2 D_j - I) X V_j S_j^{-1} w >= 0."""
    blocks: Blocks = []
    for p in D.T:
        U, S, Vt = np.linalg.svd(p[:, None] * X, full_matrices=False)
        r = int(np.linalg.matrix_rank(p[:, None] * X))
        cone = (2.0 * p - 1.0)[:, None] * (X @ (Vt[:r].T / S[:r]))
        blocks.append((U[:, :r], cone if exact else None))
    return blocks


def printed_optimum(blocks: Blocks, y: Array, beta: float | None) -> float:
    """min sum ||w|| subject to fit = y, or min 1/2 ||fit - y||^2 + beta sum ||w||."""
    fit, sizes, constraints = [], [], []
    for A, cone in blocks:
        copies = [cp.Variable(A.shape[1]) for _ in range(1 if cone is None else 2)]
        fit.append(A @ (copies[0] if cone is None else copies[0] - copies[1]))
        sizes += [cp.norm(w) for w in copies]
        constraints += [cone @ w >= 0 for w in copies if cone is not None]
    size, fitted = cp.sum(cp.hstack(sizes)), cp.sum(cp.vstack(fit), axis=0)
    if beta is None:
        problem = cp.Problem(cp.Minimize(size), [*constraints, fitted == y])
    else:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(fitted - y) + beta * size), constraints)
    problem.solve(solver="CLARABEL", **TIGHT)
    return float(problem.value)


PROGRAMS: dict[str, tuple[str, str, float | None, Callable[[Array, Mask, bool], Blocks]]] = {
    "gated": ("relu", "gated", None, plain),
    "gated skip": ("relu_skip", "gated", None, with_skip),
    "exact skip": ("relu_skip", "exact", None, with_skip),
    "regularised": ("relu_skip", "exact", 0.02, with_skip),
    "gated norm": ("relu_norm", "gated", None, normalised),
    "exact norm": ("relu_norm", "exact", None, normalised),
    "exact norm, regularised": ("relu_norm", "exact", 0.02, normalised),
}


def _instance(architecture: str, seed: int) -> Instance:
    """Few rows per variable, so that D_j X often lacks full rank; half of the instances have noise."""
    n, d = [(6, 4), (8, 5), (9, 4), (12, 4), (7, 6)][seed % 5]
    planted = {"relu": Relu(), "relu_skip": Linear(), "relu_norm": NormalizedRelu()}[architecture]
    setting = Setting(n, d, planted=planted, noise=[0.0, 0.2][seed % 2], patterns=Patterns(count=14))
    return draw(setting, np.random.default_rng(seed))


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seeds", first(1, [range(INSTANCES // 2), range(INSTANCES // 2, INSTANCES)]))
@pytest.mark.parametrize("name", PROGRAMS)
def test_optima_are_those_of_the_printed_programs(name: str, seeds: range) -> None:
    architecture, kind, beta, written = PROGRAMS[name]
    narrowed, worst = 0, 0.0
    for seed in seeds:
        instance = _instance(architecture, seed)
        problem = PlantedProgram.of(instance, ARCHITECTURES[architecture], kind, beta)
        narrowed += int(problem.program.groups.narrowed.sum())
        certificate = certify(problem.program, SOLVERS["auto"](problem.program))
        assert certificate.proves_optimal
        theirs = printed_optimum(written(instance.X, instance.patterns, kind == "exact"), instance.y, beta)
        worst = max(worst, abs(certificate.objective / theirs - 1.0))
    assert worst <= 1e-7
    assert (narrowed > 0) == name.startswith("exact norm")


def test_14_as_printed_recovers_every_linear_neuron_at_no_cost() -> None:
    """Without ||w_0|| in the objective a weight w_0 alone costs 0, the least cost; it is unique from n = d rows on."""
    for n, d in ((5, 5), (8, 5)):
        instance = draw(Setting(n, d, planted=Linear()), np.random.default_rng(n))
        alone, _, rank, _ = np.linalg.lstsq(instance.X, instance.y, rcond=None)
        assert rank == d
        assert np.abs(instance.X @ alone - instance.y).max() < 1e-12
        assert np.abs(alone - planted_neurons(instance).directions[:, 0]).max() < 1e-10


def _nearly_equal(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[3] = X[1] * (1.0 + 1e-7)
    return X


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("kind", ["zero rows", "opposite rows", "{-1, 0, 1}", "rank deficient", _nearly_equal])
def test_confined_neurons_on_odd_data(kind: str | Callable[[Rng, int, int], Array]) -> None:
    rng = np.random.default_rng(36)
    for _ in range(5):
        X = KINDS.get(kind, kind)(rng, 9, 5)
        D = unique_patterns(X, [X @ rng.standard_normal((5, 14)) >= 0])
        y = np.maximum(X @ rng.standard_normal(5), 0) + 0.1 * np.abs(X).max() * rng.standard_normal(9)
        y /= np.linalg.norm(y)
        groups = replace(ARCHITECTURES["relu_norm"].groups(X, D), confined=True)
        program = ExactProgram(groups, y, 0.05)
        certificate = certify(program, SOLVERS["auto"](program))
        assert certificate.proves_optimal
        assert certificate.objective == pytest.approx(printed_optimum(normalised(X, D, True), y, 0.05), rel=1e-7)


def test_conic_solvers_agree_on_a_confined_program() -> None:
    """`Row.lift` maps group weights to base weights."""
    instance = _instance("relu_norm", 1)
    program = PlantedProgram.of(instance, ARCHITECTURES["relu_norm"], "exact", 0.02).program
    assert program.groups.narrowed.any()
    ours, theirs = (certify(program, find_solver(name, "exact")(program)) for name in ("auto", "CLARABEL"))
    assert theirs.proves_optimal
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)


def test_weights_outside_the_row_space_are_no_weights_of_a_confined_program() -> None:
    instance = _instance("relu_norm", 5)
    confined = PlantedProgram.of(instance, ARCHITECTURES["relu_norm"], "exact", 0.02).program
    wide = PlantedProgram.of(instance, ARCHITECTURES["relu_norm"], "exact", 0.02, "none").program
    assert confined.groups.narrowed.any()
    found = SOLVERS["auto"](wide)
    assert wide.cone_violation(found.W) <= 1e-6
    assert confined.cone_violation(found.W) > 1e-3


def test_confinement_excludes_planted_neurons_if_there_are_few_rows() -> None:
    """Planted weights outside the row space are not optimal; the program without confinement has their cost."""
    excluded = 0
    for seed in range(24):
        instance = draw(Setting(14, 10, planted=NormalizedRelu()), np.random.default_rng(seed))
        problem = PlantedProgram.of(instance, ARCHITECTURES["relu_norm"], "exact")
        row = MinNorm("exact")(instance, ARCHITECTURES["relu_norm"])
        wide = MinNorm("exact", confinement="none")(instance, ARCHITECTURES["relu_norm"])
        if problem.feasible:
            assert row["verdict"] == wide["verdict"] or row["verdict"] == "recovered"
        else:
            excluded += 1
            assert row["verdict"] != "recovered"
            assert row["objective"] >= wide["objective"] * (1 - 1e-8)
            assert wide["objective"] <= 1.0 + 1e-8
    assert excluded >= 6


def test_confinement_applies_to_sampled_patterns_only() -> None:
    setting = Setting(8, 4, planted=NormalizedRelu(), noise=0.2, patterns=Patterns(kind="exhaustive"))
    instance = draw(setting, np.random.default_rng(3))
    printed, wide = (Regularized("exact", beta=0.05, confinement=each) for each in ("row_space", "none"))
    norm = ARCHITECTURES["relu_norm"]
    assert printed(instance, norm)["objective"] == wide(instance, norm)["objective"]


def test_over_every_closed_pattern_confinement_changes_nothing() -> None:
    """(5) has closed conditions: rows at zero may be active in a pattern."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((6, 2))
    corners = np.array([[-x[1], x[0]] for x in X])
    H = np.vstack([corners, -corners]).T
    at_zero = np.abs(X @ H) < 1e-12
    open_ = [X @ H + rng.choice([-1.0, 1.0]) * 1e-6 * (X @ rng.standard_normal((2, 12))) >= 0 for _ in range(20)]
    closed = unique_patterns(X, [(X @ H > 0) | at_zero, ((X @ H > 0) & ~at_zero), *open_])
    y = rng.standard_normal(6)
    groups = ARCHITECTURES["relu_norm"].groups(X, closed)
    wide, confined = (ExactProgram(replace(groups, confined=each), y, 0.05) for each in (False, True))
    assert confined.groups.narrowed.any()
    values = [certify(each, SOLVERS["auto"](each)).objective for each in (wide, confined)]
    assert values[0] == pytest.approx(values[1], rel=1e-8)


def test_an_exact_program_does_not_choose_between_confined_and_wide_in_silence() -> None:
    instance = draw(Setting(8, 4), np.random.default_rng(0))
    groups = ARCHITECTURES["relu_norm"].groups(instance.X, instance.patterns)
    with pytest.raises(ParameterError, match="give two exact programs"):
        ExactProgram(groups, instance.y)
    assert GatedProgram(groups, instance.y).kind == "gated"
