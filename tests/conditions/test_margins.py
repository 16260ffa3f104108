"""Verdicts of isometry conditions at margins of 1e-6 to 1e-14, judged by code of its own in 60 digits, for d = 2."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from recovery.conditions.neural_isometry import neural_isometry, uniform_isometry
from recovery.instances.arrangements import enumerate_cells
from recovery.programs.architecture import ARCHITECTURES

Pair = tuple[Fraction, Fraction]


def rational(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(a)) for a in values]


def gram(rows: list[list[Fraction]]) -> tuple[Fraction, Fraction, Fraction]:
    return (sum(x * x for x, _ in rows), sum(x * y for x, y in rows), sum(y * y for _, y in rows))  # type: ignore[return-value]


def solved(G: tuple[Fraction, Fraction, Fraction], b: Pair) -> Pair:
    a, c, e = G
    det = a * e - c * c
    return ((e * b[0] - c * b[1]) / det, (a * b[1] - c * b[0]) / det)


def decimal(a: Fraction) -> Decimal:
    return Decimal(a.numerator) / Decimal(a.denominator)


def judge_linear(X: np.ndarray, w: np.ndarray, patterns: np.ndarray) -> Fraction:
    """The least 1 - value^2 of (NIC-L), exactly."""
    rows, v = [rational(x) for x in X], rational(w)
    z = solved(gram(rows), (v[0], v[1]))
    lam = [x * z[0] + y * z[1] for x, y in rows]
    size = v[0] ** 2 + v[1] ** 2
    margins = []
    for column in patterns.T:
        b = [sum((lam[i] * rows[i][k] for i in np.flatnonzero(column)), Fraction(0)) for k in (0, 1)]
        margins.append(1 - (b[0] ** 2 + b[1] ** 2) / size)
    return min(margins)


def judge_relu(X: np.ndarray, w: np.ndarray, patterns: np.ndarray) -> Fraction:
    """The least 1 - value^2 of (NIC-1), exactly."""
    rows, v, own = [rational(x) for x in X], rational(w), X @ w >= 0
    z = solved(gram([rows[i] for i in np.flatnonzero(own)]), (v[0], v[1]))
    lam = [x * z[0] + y * z[1] if on else Fraction(0) for (x, y), on in zip(rows, own, strict=True)]
    size, margins = v[0] ** 2 + v[1] ** 2, []
    for column in patterns.T:
        if not np.array_equal(column, own):
            b = [sum((lam[i] * rows[i][k] for i in np.flatnonzero(column)), Fraction(0)) for k in (0, 1)]
            margins.append(1 - (b[0] ** 2 + b[1] ** 2) / size)
    return min(margins)


def judge_opposite(X: np.ndarray, w: np.ndarray, patterns: np.ndarray) -> Decimal:
    """The least 1 - value^2 of (NNIC-2) for w and -w, to 60 digits."""
    rows, v = [rational(x) for x in X], rational(w)
    z = [x * v[0] + y * v[1] for x, y in rows]
    sides = [np.array([s * a > 0 for a in z]) for s in (1, -1)]
    square = [sum((z[i] ** 2 for i in np.flatnonzero(side)), Fraction(0)) for side in sides]
    with localcontext() as context:
        context.prec = 60
        margins = []
        for column in patterns.T:
            if any(np.array_equal(column, side) for side in sides):
                continue
            active = np.flatnonzero(column)
            b = [
                tuple(sum((abs(z[i]) * rows[i][k] for i in active if side[i]), Fraction(0)) for k in (0, 1))
                for side in sides
            ]
            if len(active) == 1:
                i, side = active[0], 0 if sides[0][active[0]] else 1
                margins.append(1 - decimal(z[i] ** 2 / square[side]))
                continue
            G = gram([rows[i] for i in active])
            first, second = solved(G, b[0]), solved(G, b[1])  # type: ignore[arg-type]
            terms = [
                decimal((p[0] * q[0] + p[1] * q[1]) / 1) for p, q in ((b[0], first), (b[1], second), (b[0], second))
            ]
            one, other = decimal(square[0]), decimal(square[1])
            margins.append(1 - terms[0] / one - terms[1] / other - 2 * terms[2] / (one * other).sqrt())
        return min(margins)


def close_row(rng: np.random.Generator, X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """X with one row that is small and nearly orthogonal to w."""
    t, s = 10.0 ** rng.uniform(-7.5, -2.5), 10.0 ** rng.uniform(-3.5, 0)
    X[0] = s * (np.array([-w[1], w[0]]) + rng.choice([-1.0, 1.0]) * t * w)
    return X


FAMILIES = {
    "linear": ("relu_skip", judge_linear),
    "relu": ("relu", judge_relu),
    "opposite": ("relu_norm", judge_opposite),
}


def verdicts(family: str, draws: int, seed: int) -> dict[str, int]:
    """Counts of right, undecided and false verdicts with margins of at most 1e-6, and of margins that are off."""
    name, judge = FAMILIES[family]
    rng, counts = np.random.default_rng(seed), {"right": 0, "undecided": 0, "false": 0, "off": 0}
    for _ in range(draws):
        n, w = int(rng.integers(5, 14)), rng.standard_normal(2)
        w /= np.linalg.norm(w)
        X = close_row(rng, rng.standard_normal((n, 2)), w)
        patterns = enumerate_cells(X)[0]
        patterns = patterns[:, patterns.any(axis=0)]
        if family == "linear":
            patterns = patterns[:, ~patterns.all(axis=0)]
        W = np.column_stack([w, -w]) if family == "opposite" else w[:, None]
        found = neural_isometry(ARCHITECTURES[name], X, W, np.ones(W.shape[1]), patterns, linear=family == "linear")
        if not found.identified:
            continue
        margin = float(judge(X, w, patterns))
        if abs(margin) > 2e-6:
            continue
        counts["undecided" if found.holds is None else "right" if found.holds == (margin > 0) else "false"] += 1
        counts["off"] += abs(2 * found.margin - margin) > 1e-6 * abs(margin) + abs(margin) ** 2
    return counts


@pytest.mark.parametrize("family", FAMILIES)
def test_no_verdict_at_a_small_margin_is_false(family: str) -> None:
    counts = verdicts(family, 400 if family == "linear" else 100, 0)
    assert counts["right"] >= 10
    assert counts["false"] == counts["undecided"] == counts["off"] == 0


@pytest.mark.parametrize("n", [160, 640])
def test_opposite_neurons_hold_however_small_the_margin(n: int) -> None:
    """P1, Proposition 8: the margin falls as n^-3, and is 1e-10 at n = 160."""
    for seed in range(4):
        rng = np.random.default_rng([n, seed])
        X, w = rng.standard_normal((n, 2)), rng.standard_normal(2)
        w /= np.linalg.norm(w)
        patterns = enumerate_cells(X)[0]
        found = neural_isometry(
            ARCHITECTURES["relu_norm"], X, np.column_stack([w, -w]), np.ones(2), patterns, linear=False
        )
        assert found.holds
        assert 0 < found.margin < 1e-4


def test_a_coincidence_of_whole_numbers_is_a_tie() -> None:
    """The dual of (0, 1) is zero on the first two rows, so that patterns without them have value 1 exactly."""
    X = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -3.0]])
    found = neural_isometry(
        ARCHITECTURES["relu_skip"],
        X,
        np.array([[0.0], [1.0]]),
        np.ones(1),
        np.array([[0, 1, 1, 1]], dtype=bool).T,
        linear=True,
    )
    assert found.holds is False
    assert found.margin == 0.0


@pytest.mark.parametrize("e", [3e-5, 1e-6, 1e-8, 1e-12])
def test_the_uniform_form_at_small_margins(e: float) -> None:
    """X = (1, 1, -e)^T: the value is 2 / (2 + e^2)."""
    X = np.array([[1.0], [1.0], [-e]])
    found = uniform_isometry(X, np.array([[1, 1, 0], [0, 0, 1]], dtype=bool).T)
    assert found.holds
    assert found.margin == pytest.approx(e**2 / (2 + e**2), rel=1e-9)


@pytest.mark.parametrize("condition", [1e4, 1e9, 1e12])
def test_the_uniform_form_of_ill_conditioned_data_is_accurate(condition: float) -> None:
    """d = 2, against the largest singular value of an exact matrix."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        X = rng.standard_normal((8, 2)) @ np.array([[1.0, 1.0], [0.0, 1.0 / condition]])
        patterns = enumerate_cells(X)[0]
        rows = [rational(x) for x in X]
        largest = 0.0
        for column in patterns.T:
            C = gram([rows[i] for i in np.flatnonzero(column)]) if column.any() else (Fraction(0),) * 3
            first, second = (solved(gram(rows), b) for b in ((C[0], C[1]), (C[1], C[2])))
            M = np.array([[float(a) for a in first], [float(a) for a in second]])
            largest = max(largest, float(np.linalg.svd(M, compute_uv=False)[0]))
        found = uniform_isometry(X, patterns)
        assert found.value == pytest.approx(largest, rel=1e-2 if condition > 1e10 else 1e-6)
        assert found.holds == (largest < 1)
