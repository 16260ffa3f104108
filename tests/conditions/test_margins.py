"""Verdicts of isometry conditions at margins of 1e-6 to 1e-14, judged by code of its own, exactly, for d = 2."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Literal

import numpy as np
import pytest
from flint import fmpz_mat
from scipy.optimize import brentq

from recovery.conditions.neural_isometry import uniform_isometry
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import NormalizedRelu
from recovery.methods.isometry import Isometry
from recovery.programs.architecture import ARCHITECTURES
from tests.conditions.isometry import neural_isometry
from tests.suites import first

Pair = tuple[Fraction, Fraction]


def rational(values: np.ndarray) -> list[Fraction]:
    return [Fraction(float(a)) for a in values]


def gram(rows: list[list[Fraction]]) -> tuple[Fraction, Fraction, Fraction]:
    return (sum(x * x for x, _ in rows), sum(x * y for x, y in rows), sum(y * y for _, y in rows))  # type: ignore[return-value]


def solved(G: tuple[Fraction, Fraction, Fraction], b: Pair) -> Pair:
    a, c, e = G
    det = a * e - c * c
    return ((e * b[0] - c * b[1]) / det, (a * b[1] - c * b[0]) / det)


def judge_one(X: np.ndarray, w: np.ndarray, patterns: np.ndarray, linear: bool = False) -> Fraction:
    """The least 1 - value^2 of (NIC-1), or of (NIC-L), where all rows are active, exactly."""
    rows, v, own = [rational(x) for x in X], rational(w), (X @ w >= 0) | linear
    z = solved(gram([rows[i] for i in np.flatnonzero(own)]), (v[0], v[1]))
    lam = [x * z[0] + y * z[1] if on else Fraction(0) for (x, y), on in zip(rows, own, strict=True)]
    size, margins = v[0] ** 2 + v[1] ** 2, []
    for column in patterns.T:
        if not np.array_equal(column, own):
            b = [sum((lam[i] * rows[i][k] for i in np.flatnonzero(column)), Fraction(0)) for k in (0, 1)]
            margins.append(1 - (b[0] ** 2 + b[1] ** 2) / size)
    return min(margins)


def whole(values: np.ndarray) -> list[int]:
    """Floats times 2^200, exactly."""
    scaled = [Fraction(float(a)) * 2**200 for a in values]
    assert all(a.denominator == 1 for a in scaled)
    return [int(a) for a in scaled]


def judge_two(X: np.ndarray, W: np.ndarray, patterns: np.ndarray, signs: Iterable[float] = (1, 1)) -> float:
    """The least 1 - value^2 of (NNIC-2) for two normalised neurons, the columns of W, in whole numbers; 0 is exact.

    lam = M c, M = [D_1 X, D_2 X], solves X^T D_k lam = +-X^T D_k X w_k / q_k^(1/2) with q_k = w_k^T X^T D_k X w_k. Both
    numerators have a common factor, det M^T M, and only q_k^(1/2) are no whole numbers.
    """
    rows, ws = [whole(x) for x in X], [whole(w) for w in W.T]
    own = np.array([[x[0] * w[0] + x[1] * w[1] > 0 for w in ws] for x in rows])
    squares = [np.array([[x * x, x * y], [x * y, y * y]], dtype=object) for x, y in rows]

    def gram(chosen: np.ndarray) -> np.ndarray:
        return sum((squares[i] for i in np.flatnonzero(chosen)), np.zeros((2, 2), dtype=object))

    both = gram(own.all(axis=1))
    M = fmpz_mat(np.block([[gram(own[:, 0]), both], [both, gram(own[:, 1])]]).tolist())
    det = int(M.det()) if both.any() else 1  # without common rows c is w_k itself, also where M has a lower rank
    c, q = [], []
    for k, sign in enumerate(signs):
        w, u = np.array(ws[k], dtype=object), np.zeros(4, dtype=object)
        image = gram(own[:, k]) @ w
        q.append(image @ w)
        u[2 * k : 2 * k + 2] = int(sign) * (image if both.any() else w)
        if both.any():
            u = np.array([int(a.p) for a in (M.solve(fmpz_mat([[a] for a in u])) * det).entries()], dtype=object)
        c.append(u)
    before, grams, margins = np.zeros(len(X), dtype=bool), np.zeros((3, 2, 2), dtype=object), []
    for column in patterns.T:
        for i in np.flatnonzero(column != before):
            grams[np.array([own[i, 0], own[i, 1], True])] += squares[i] if column[i] else -squares[i]
        before = column
        if any(np.array_equal(column, own[:, k]) for k in (0, 1)):
            continue
        first, second, G = grams
        b = [first @ ck[:2] + second @ ck[2:] for ck in c]
        divisor = G[0, 0] * G[1, 1] - G[0, 1] ** 2
        inverse = np.array([[G[1, 1], -G[0, 1]], [-G[0, 1], G[0, 0]]], dtype=object)
        if divisor == 0:  # one active row: the inverse of a matrix of rank one is itself over its squared trace
            inverse, divisor = G, (G[0, 0] + G[1, 1]) ** 2
        # the margin is (A - B Q^(1/2)) / (Q divisor det^2)
        Q, whole_one = q[0] * q[1], divisor * det**2
        A = Q * whole_one - (b[0] @ inverse @ b[0]) * q[1] - (b[1] @ inverse @ b[1]) * q[0]
        B = 2 * (b[0] @ inverse @ b[1])
        exact = A * abs(A) == B * abs(B) * Q
        margins.append(0.0 if exact else float(Fraction(A * 2**200 - B * isqrt(Q << 400), Q * whole_one * 2**200)))
    return min(margins)


FAMILIES = {
    "linear": ("relu_skip", partial(judge_one, linear=True)),
    "relu": ("relu", judge_one),
    "opposite": ("relu_norm", judge_two),
    "orthogonal": ("relu_norm", judge_two),
}


def drawn(family: str, rng: np.random.Generator) -> tuple[Callable[[float], np.ndarray], np.ndarray, np.ndarray]:
    """X at a parameter z, values of z, and the neurons. The first row is scaled by exp(z).

    Opposite neurons w have positive margins at every scale. Beside them the row turns from w's hyperplane by exp(z).
    """
    X, w = rng.standard_normal((int(rng.integers(5, 14)), 2)), rng.standard_normal(2)
    w /= np.linalg.norm(w)
    turns, plane = family == "opposite", np.array([-w[1], w[0]])
    W = {"opposite": np.column_stack([w, -w]), "orthogonal": np.eye(2)}.get(family, w[:, None])
    return (
        lambda z: np.vstack([plane + np.exp(z) * w if turns else np.exp(z) * X[0], X[1:]]),
        np.linspace(-20.0, -1.0, 9) if turns else np.linspace(-4.5, 4.5, 9),
        W,
    )


@pytest.mark.parametrize("decade", first(3, [6, 9, 13, 7, 8, 10, 11, 12]))
@pytest.mark.parametrize("family", FAMILIES)
def test_no_verdict_at_a_small_margin_is_false(family: str, decade: int) -> None:
    """The parameter is where the exact margin has a given value, of either sign if both are possible."""
    name, judge = FAMILIES[family]
    rng = np.random.default_rng(decade)

    def cells(X: np.ndarray) -> np.ndarray:
        patterns = enumerate_cells(X)[0]
        return patterns[:, patterns.any(axis=0) & ~(patterns.all(axis=0) & (family == "linear"))]

    for target in (10 ** -(decade + 0.5), *(() if family == "opposite" else (-(10 ** -(decade + 0.5)),))):
        for _ in range(400):
            make, steps, W = drawn(family, rng)
            X = make(0.0)
            if np.linalg.matrix_rank(np.hstack([X * (X @ w > 0)[:, None] for w in W.T])) < 2 * W.shape[1]:
                continue

            def gap(z: float, make=make, W=W, target=target) -> float:
                X = make(z)
                return float(judge(X, W if judge is judge_two else W[:, 0], cells(X))) - target  # type: ignore[operator]

            values = [gap(z) for z in steps]
            if not (turned := np.flatnonzero(np.diff(np.sign(values)))).size:
                continue
            z = brentq(gap, *steps[turned[0] : turned[0] + 2], xtol=1e-16)
            margin = gap(z) + target
            if abs(margin / target - 1) < 0.9:
                break
        else:
            pytest.fail("no draw has this margin")
        X = make(z)
        found = neural_isometry(ARCHITECTURES[name], X, W, np.ones(W.shape[1]), cells(X), linear=family == "linear")
        assert np.isfinite(found.value)
        assert found.holds is (margin > 0)
        assert found.margin * (2 - found.margin) == pytest.approx(margin, rel=1e-6)


@pytest.mark.parametrize(("n", "draws"), first(2, [(160, 4), (640, 2), (1600, 1)]))
@pytest.mark.parametrize("geometry", ["opposite", "basis"])
def test_no_verdict_on_two_neurons_is_a_false_negative(
    geometry: Literal["opposite", "basis"], n: int, draws: int
) -> None:
    """P1, Proposition 8: opposite neurons hold in all draws, with margins that fall as n^-3; orthogonal ones in few.

    Of 40 draws at n = 160, 40 at n = 640 and 20 at n = 1600 opposite neurons hold in all by both codes, orthogonal ones
    in 8, 7 and 4.
    """
    for seed in range(draws):
        setting = Setting(n, 2, planted=NormalizedRelu(k=2, geometry=geometry), patterns=Patterns(kind="exhaustive"))
        instance = draw(setting, np.random.default_rng([n, seed]))
        row = Isometry()(instance, ARCHITECTURES["relu_norm"])
        patterns, points = enumerate_cells(instance.X)
        patterns = patterns[:, np.argsort(np.arctan2(*points))]  # neighbours differ in one row
        margin = judge_two(instance.X, instance.planted.directions, patterns, instance.planted.signs)
        assert row["holds"] == (margin > 0)
        assert geometry == "basis" or margin > 0
        below = row["isometry_margin"]
        assert below * (2 - below) == pytest.approx(margin, rel=1e-6)


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


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_data_are_called_singular_only_in_exact_arithmetic(linear: bool, exact: bool) -> None:
    """The third column is that of the first, exactly or up to 1e-12: then a dual exists, which no float shows."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.integers(0, 10, (10, 3)).astype(float)
        X[:, 2] = X[:, 0] + (0.0 if exact else 2.0**-40) * rng.integers(1, 9, 10)
        name = "relu_skip" if linear else "relu"
        w = np.array([[0.0], [1.0], [2.0]])
        found = neural_isometry(ARCHITECTURES[name], X, w, np.ones(1), rng.random((10, 3)) < 0.5, linear=linear)
        assert found.value == np.inf
        assert found.holds is (False if exact else None)
        assert (found.reason is None) == exact


@pytest.mark.parametrize(("turn", "holds"), [(0.0, False), (2.0**-44, None)])
def test_images_are_called_dependent_only_in_exact_arithmetic(turn: float, holds: bool | None) -> None:
    """Three neurons with positive products on the same two rows; a third row has tiny ones, or none."""
    X = np.vstack([np.eye(4)[:2], -np.eye(4)[2:], [0.0, 0.0, turn, 0.0]])
    W = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 2.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    found = neural_isometry(ARCHITECTURES["relu"], X, W, np.ones(3), np.eye(5, dtype=bool), linear=False)
    assert found.value == np.inf
    assert found.holds is holds
