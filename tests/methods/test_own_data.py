"""`recovery.optimum` on 20 data sets, against Clarabel on the printed program, and its errors."""

import numpy as np
import pytest

import recovery
from recovery.errors import ParameterError
from recovery.types import Array
from tests.programs.test_printed_programs import plain, printed_optimum, with_skip


def _data(seed: int) -> tuple[Array, Array]:
    """Tall, wide, whole, low rank, repeated and zero rows, uneven columns."""
    rng = np.random.default_rng(seed)
    n, d = [(12, 3), (6, 8), (15, 2), (9, 4), (10, 1)][seed % 5]
    X = rng.standard_normal((n, d))
    if seed // 5 == 1:
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif seed // 5 == 2:
        X = X[:, :1] @ rng.standard_normal((1, d)) if d > 2 else X * 10.0 ** np.arange(d)
    elif seed // 5 == 3:
        X[n // 2 :], X[0] = X[: n - n // 2].copy(), 0.0
    return X, np.abs(X[:, 0]) - 0.5 + 0.1 * rng.standard_normal(n)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_is_that_of_the_printed_program(seed: int) -> None:
    X, y = _data(seed)
    architecture, beta = ("relu", "relu_skip")[seed % 2], (0.3, 0.02)[seed // 2 % 2]
    best = recovery.optimum(X, y, architecture, beta, "sampled", count=12)
    written = with_skip if architecture == "relu_skip" else plain
    printed = printed_optimum(written(X, best.patterns, True), y, beta)
    assert best.objective == pytest.approx(printed, rel=1e-6, abs=1e-9)
    assert best.certificate.proves_optimal
    assert best.network.objective(X, y, beta) == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("seed", [0, 2, 7])
def test_no_sampled_program_is_below_the_proved_optimum(seed: int) -> None:
    X, y = _data(seed)
    best = recovery.optimum(X, y, beta=0.05, patterns="all")
    some = recovery.optimum(X, y, beta=0.05, patterns="sampled")
    assert best.scope == "all"
    assert best.gap <= 1e-6
    assert best.lower <= some.objective * (1 + 1e-9)
    low, high = best.excess(some.objective)
    assert 0 <= low <= high + 1e-9
    assert best.excess(best.objective)[1] == pytest.approx(0.0, abs=2e-6)


def test_a_proof_in_few_dimensions_needs_about_as_many_nodes_as_there_are_cells() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    assert recovery.optimum(X, np.abs(X[:, 0]) - 0.5, beta=0.01, patterns="all", nodes=20_000).gap <= 1e-6


def test_an_interpolating_network_fits_the_labels() -> None:
    X, y = _data(1)
    best = recovery.optimum(X, y, "relu_skip", beta=None)
    assert best.network.predict(X) == pytest.approx(y, abs=1e-6)
    with pytest.raises(ParameterError, match="give a beta"):
        recovery.optimum(np.ones((3, 1)), [1.0, 2.0, 3.0], beta=None)


@pytest.mark.parametrize(
    ("X", "y", "more", "message"),
    [
        (np.ones(4), np.ones(4), {}, r"X must be a matrix of shape \(n, d\).*found shape \(4,\)"),
        (np.ones((4, 2)), np.ones((4, 1)), {}, r"y must have shape \(4,\).*found \(4, 1\); pass y\[:, 0\]"),
        (np.ones((4, 2)), np.ones(3), {}, r"y must have shape \(4,\), one label per row of X \(4, 2\); found \(3,\)"),
        (np.full((4, 2), np.nan), np.ones(4), {}, "X has 8 entries that are NaN"),
        (np.ones((4, 2)), np.ones(4), {"beta": 0.0}, "beta must be positive and finite, or None"),
        (np.ones((4, 2)), np.ones(4), {"patterns": "every"}, "patterns must be all, searched or sampled"),
        (np.ones((4, 2)), np.ones(4), {"architecture": "resnet"}, "unknown architecture 'resnet'"),
    ],
)
def test_errors_say_shapes_and_what_is_allowed(X: Array, y: Array, more: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        recovery.optimum(X, y, **more)  # type: ignore[arg-type]
