"""Intervals of optima, proved in ball arithmetic: narrow for good weights and duals, and true for bad ones."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls

from recovery.conditions.balls import Unproved
from recovery.extras.proofs.optimum import ProofStart, ProvedOptimum, empty_model, proof_start, prove_optimum
from recovery.extras.rigorous import check, verify_rigorously
from recovery.instances.draw import Setting, draw
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.min_norm import ConvexMethod, MinNorm, Regularized
from recovery.programs.architecture import ARCHITECTURES
from recovery.runner.rerun import trials_of_grid
from recovery.solvers.conic import solve_conic
from recovery.store import read
from recovery.types import Array, Rng

ROOT = Path(__file__).parents[2]
WIDEST, SECOND = 1e-6, 1e-6
"""Relative width of a proof, and accuracy of the second solver."""
CASES: list[tuple[str, ConvexMethod, Planted, int, int]] = [
    ("relu_skip", MinNorm(), Linear(), 16, 5),
    ("relu_norm", MinNorm(), NormalizedRelu(), 16, 5),
    ("relu_norm_skip", MinNorm(), Linear(), 16, 5),
    ("relu_skip", MinNorm(program="exact"), Linear(), 14, 4),
    ("relu_skip", Regularized(beta=0.01), Linear(), 16, 5),
    ("relu_skip", Regularized(beta=0.01, program="exact"), Linear(), 14, 4),
    ("relu_norm", Regularized(beta=0.01, program="exact"), NormalizedRelu(), 7, 5),
    ("relu_norm", Regularized(beta=0.01, program="exact"), NormalizedRelu(), 20, 4),
]
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


def starts(name: str, method: ConvexMethod, planted: Planted, n: int, d: int) -> tuple[ProofStart, object, float]:
    """Return the start of a proof of one noisy trial, the model, and the optimum of Clarabel."""
    instance = draw(Setting(n, d, planted=planted, noise=0.1), np.random.default_rng(n), ARCHITECTURES[name])
    evidence = method(instance, ARCHITECTURES[name]).evidence
    assert evidence is not None
    assert evidence.found is not None
    program = evidence.program
    model = empty_model(ARCHITECTURES[name], instance.X, program)
    optimum = program.objective(solve_conic(program, "CLARABEL", options=TIGHT).W)
    return proof_start(program, evidence.found.solution), model, optimum


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_interval_is_narrow_and_contains_the_optimum_of_another_solver(
    case: tuple[str, ConvexMethod, Planted, int, int],
) -> None:
    given, model, optimum = starts(*case)
    found = prove_optimum(model, given)  # type: ignore[arg-type]
    assert found.width <= WIDEST
    assert found.low * (1 - SECOND) <= optimum <= found.high * (1 + SECOND)


def corrupted(given: ProofStart, rng: Rng) -> Iterator[ProofStart]:
    """Weights, duals and multipliers with errors from rounding to nonsense."""

    def changed(values: Array, size: float) -> Array:
        return np.asarray(values + size * np.abs(values).max(initial=1e-3) * rng.standard_normal(values.shape))

    size = 10.0 ** rng.uniform(-9, 1)
    yield replace(given, lam=changed(given.lam, size))
    yield replace(given, lam=-given.lam * rng.uniform(0, 3))
    yield replace(given, weights=[replace(one, w=changed(one.w, size)) for one in given.weights])
    yield replace(given, weights=list(given.weights)[: len(given.weights) // 2])
    if given.multipliers is not None:
        yield replace(given, multipliers={key: changed(mu, size) for key, mu in given.multipliers.items()})
        yield replace(given, multipliers={})


@pytest.mark.deep
@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_interval_of_corrupted_weights_and_duals_excludes_the_optimum(
    case: tuple[str, ConvexMethod, Planted, int, int],
) -> None:
    given, model, optimum = starts(*case)
    rng, proofs = np.random.default_rng(5), list[ProvedOptimum]()
    for _ in range(16):
        for bad in corrupted(given, rng):
            try:
                proofs.append(prove_optimum(model, bad))  # type: ignore[arg-type]
            except Unproved:
                continue
    assert len(proofs) >= 32
    assert all(one.low * (1 - SECOND) <= optimum <= one.high * (1 + SECOND) for one in proofs)


def test_multipliers_of_a_skip_connection_prove_nothing() -> None:
    """The dual of the program without skip connection has a larger value. Only the skip connection excludes it."""
    given, model, optimum = starts("relu_skip", MinNorm(program="exact"), Relu(), 12, 4)
    without, _, larger = starts("relu", MinNorm(program="exact"), Relu(), 12, 4)
    X, lam = model.X, without.lam  # type: ignore[attr-defined]
    # a skip connection has no cone: multipliers of rows that cancel its gradient bound nothing
    multipliers = {(0, sign): nnls(X.T, -sign * X.T @ lam)[0] for sign in (1, -1)}
    multipliers |= {(g + 1, sign): mu for (g, sign), mu in (without.multipliers or {}).items()}
    found = prove_optimum(model, replace(given, lam=lam, multipliers=multipliers))  # type: ignore[arg-type]
    assert larger > optimum * (1 + 1e-3)
    assert found.low <= optimum * (1 + SECOND)


@pytest.mark.parametrize("name", ["p1-fig07", "p1-fig20", "p1-fig23", "p1-fig24"])
@pytest.mark.parametrize("count", [pytest.param(10, marks=pytest.mark.deep), pytest.param(50, marks=pytest.mark.soak)])
def test_stored_optima_of_the_papers_are_proved(name: str, count: int) -> None:
    """`count` stored trials with noise or a penalty for each figure, with n d <= 1000, and one with n d = 5000."""
    grid = read(ROOT / "results" / "papers" / name)
    frame, trials = grid.frame, {trial.id: trial for trial in trials_of_grid(grid, trust=False)}
    frame = frame[frame["verdict"].isna() & (frame["certificate"] == "gap")]
    size = frame["n"] * frame["d"]
    rows = pd.concat([frame[size <= 1000].sample(count, random_state=3), frame[size == 5000].iloc[:1]])
    checked = [
        check(trials[trial], {"verdict": None, "certificate": "gap", "objective": objective})
        for trial, objective in zip(rows["trial_id"], rows["objective"], strict=True)
    ]
    assert [one.result.reason for one in checked if not one.result.proved] == []
    assert max(one.result.bound or 0.0 for one in checked) <= WIDEST


def test_a_stored_objective_outside_the_interval_is_found() -> None:
    grid = read(ROOT / "results" / "papers" / "p1-fig20")
    frame, trials = grid.frame, {trial.id: trial for trial in trials_of_grid(grid, trust=False)}
    row = frame[(frame["n"] == 20) & (frame["d"] == 10) & (frame["certificate"] == "gap")].iloc[0].to_dict()
    good = check(trials[row["trial_id"]], row | {"verdict": None})
    bad = check(trials[row["trial_id"]], row | {"verdict": None, "objective": row["objective"] * (1 + 1e-5)})
    assert (good.outcome, bad.outcome) == ("proved", "the opposite is proved")
    assert "objective in [" in good.result.reason
    assert bad.result.reason.startswith("the stored objective")


def test_noisy_labels_have_an_optimum_and_no_verdict() -> None:
    instance = draw(Setting(16, 5, noise=0.1), np.random.default_rng(0))
    assert "no verdict" in verify_rigorously(instance, ARCHITECTURES["relu_skip"], MinNorm(), "recovered").reason
