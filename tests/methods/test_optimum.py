"""The optimum over all patterns of noisy and penalised data, against cvxpy over every pattern and on bad data."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Instance, Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, Relu
from recovery.methods.convex import PlantedProgram, solve
from recovery.methods.generation import ALLOWED, largest_dual, optimum_over_all
from recovery.methods.min_norm import MinNorm, Regularized
from recovery.programs.architecture import ARCHITECTURES, Architecture
from tests.suites import first

from .laws import SPOILED, Spoiled

SKIP, RELU = ARCHITECTURES["relu_skip"], ARCHITECTURES["relu"]


def drawn(kind: str, n: int, d: int, architecture: Architecture, seed: int, nodes: int = 2_000_000) -> Instance:
    planted = Linear() if architecture.skip else Relu()
    patterns = Patterns(kind=kind, nodes=nodes)  # type: ignore[arg-type]
    return draw(Setting(n, d, planted=planted, noise=0.2, patterns=patterns), np.random.default_rng([n, seed]), SKIP)


@pytest.mark.parametrize("architecture", [SKIP, RELU], ids=str)
@pytest.mark.parametrize("kind", ["gated", "exact"])
@pytest.mark.parametrize(("n", "d"), first(1, [(7, 2), (9, 3)]))
def test_optima_are_those_that_cvxpy_finds_over_every_pattern(
    architecture: Architecture, kind: str, n: int, d: int
) -> None:
    for beta in (None, 0.1, 1e-3):
        method = MinNorm(kind) if beta is None else Regularized(kind, beta=beta)  # type: ignore[arg-type]
        reference = replace(method, solver="CLARABEL")
        found = method(drawn("all", n, d, architecture, 1), architecture)
        every = reference(drawn("exhaustive", n, d, architecture, 1), architecture)
        assert found.objective == pytest.approx(every.objective, rel=1e-6)
        assert found.dual_objective <= every.objective * (1.0 + 1e-7)
        assert found.patterns_proved in ("all", None)
        assert (found.patterns_proved == "all") == (found.certificate == "gap") == (found.reason is None)
        assert every.patterns_proved is None
        assert found.pattern_count is None


@pytest.mark.parametrize("kind", ["gated", "exact"])
@pytest.mark.parametrize("beta", first(1, [0.05, 1e-3]))
def test_optima_beyond_enumeration_are_proved_and_a_limit_of_one_node_gives_both_bounds(kind: str, beta: float) -> None:
    method = Regularized(kind, beta=beta)  # type: ignore[arg-type]
    free, sampled = (method(drawn(patterns, 22, 7, SKIP, 0), SKIP) for patterns in ("all", "sampled"))
    assert free.patterns_proved == "all"
    assert free.objective <= sampled.objective
    found = method(drawn("all", 22, 7, SKIP, 0, nodes=1), SKIP)
    assert (found.verdict, found.patterns_proved, found.certificate) == ("undecided", None, "none")
    lower, upper = (float(word) for word in found.reason.split("between ")[1].split(" and "))
    assert lower < free.objective * (1 + 1e-6)
    assert upper >= free.objective * (1 - 1e-6)
    assert lower < upper


@pytest.mark.parametrize("spoil", [*SPOILED[:5], "one row", "wide"])
@pytest.mark.parametrize("kind", ["gated", "exact"])
def test_bad_rows_give_a_bound_that_holds(kind: str, spoil: str) -> None:
    rng = np.random.default_rng(4)
    X = Spoiled(spoil).draw(rng, *((1, 3) if spoil == "one row" else (3, 6) if spoil == "wide" else (8, 2)))
    instance = drawn("all", *X.shape, SKIP, 2)
    y = rng.standard_normal(len(X))
    spoiled = replace(instance, X=X, y=y, signal=y)
    patterns, _ = enumerate_cells(X)
    spoiled = spoiled.with_patterns(patterns[:, :2])
    found = optimum_over_all(PlantedProgram.of(spoiled, SKIP, kind, 0.1))
    every = solve(PlantedProgram.of(spoiled.with_patterns(patterns), SKIP, kind, 0.1).program, "auto").certificate
    assert found[1].found is not None
    certificate = found[1].found.certificate
    assert certificate.dual_objective <= every.objective * (1 + 1e-9)
    assert certificate.objective >= every.dual_objective * (1 - 1e-9)
    assert certificate.proves_optimal == (found[1].row(found[0]).patterns_proved == "all")


@pytest.mark.parametrize("kind", ["gated", "exact"])
def test_a_dual_norm_that_the_oracle_leaves_open_lowers_the_bound(kind: str) -> None:
    """With the dual norm at most M, the lower bound is the dual at c lam, c = beta / M."""
    instance = drawn("all", 24, 6, SKIP, 0)
    instance = replace(instance, setting=replace(instance.setting, patterns=Patterns(kind="all", nodes=1)))
    found = optimum_over_all(PlantedProgram.of(instance, SKIP, kind, 0.01))
    problem, state = found
    assert state.found is not None
    solution, certificate = state.found.solution, state.found.certificate
    limit = 0.01 * (1 + ALLOWED * problem.program.gap_tolerance)
    y, lam, M = (
        problem.instance.y,
        solution.lam,
        largest_dual(problem.program, problem.features, solution.lam, limit, 1).upper,
    )
    assert M > 0.01
    c = 0.01 / M
    assert certificate.dual_objective == pytest.approx(c * y @ lam - c**2 / 2 * lam @ lam, rel=1e-12)
    assert found[1].row(found[0]).verdict == "undecided"


def test_the_skip_connection_counts() -> None:
    problem = PlantedProgram.of(drawn("all", 9, 3, SKIP, 0), SKIP, "gated", 0.1)
    lam = problem.features[:, 0]
    skip = float(np.linalg.norm(problem.features.T @ lam))
    assert largest_dual(problem.program, problem.features, lam, 0.0, 1000).upper >= skip


@pytest.mark.parametrize("solver", ["auto", "CLARABEL"])
@pytest.mark.parametrize("name", ["relu", "relu_norm"])
def test_networks_are_zero_on_rows_that_are_all_zero(name: str, solver: str) -> None:
    kinds = ("all", "sampled") if solver == "auto" else ("sampled",)
    for kind, program in ((kind, program) for kind in kinds for program in ("gated", "exact")):
        inst = replace(drawn(kind, 4, 2, RELU, 0), X=np.zeros((4, 2)), y=np.array([1.0, -2.0, 0.0, 0.5]))
        found = Regularized(program, beta=0.1, solver=solver)(inst, ARCHITECTURES[name])  # type: ignore[arg-type]
        assert found.objective == pytest.approx(0.5 * (inst.y @ inst.y))
        assert found.dual_objective == pytest.approx(found.objective)
