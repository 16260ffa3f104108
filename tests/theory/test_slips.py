"""Statements of P1 that are false as printed: an instance in whole numbers or fractions, and what holds instead."""

from fractions import Fraction
from itertools import product
from math import comb, exp, factorial, log, sqrt

import numpy as np
import pytest
from scipy.stats import chi2, norm

from recovery.programs.architecture import ARCHITECTURES
from recovery.theory.moments import half_space_moment, opposite_limit
from recovery.types import Array
from tests.conditions.isometry import neural_isometry

Row = tuple[int, ...]


def patterns_of(X: tuple[Row, ...], reach: int = 8) -> set[Row]:
    """Return the patterns (x.h >= 0) of the whole vectors h != 0 with entries up to `reach`: P1, Definition 1."""
    steps = product(range(-reach, reach + 1), repeat=len(X[0]))
    return {tuple(int(sum(a * b for a, b in zip(x, h, strict=True)) >= 0) for x in X) for h in steps if any(h)}


def test_figure_1_prints_a_pattern_for_another() -> None:
    """D_1 to D_6 as printed have I without 0, and diag(0, 0, 1) without diag(1, 1, 0): h and -h would not agree."""
    printed = {(1, 1, 1), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)}
    assert {p for p in printed if tuple(1 - a for a in p) not in printed} == {(1, 1, 1), (0, 0, 1)}
    assert patterns_of(((1, 1), (1, -1), (1, 0))) == printed - {(0, 0, 1)} | {(0, 0, 0)}


def test_closed_half_spaces_can_have_more_patterns() -> None:
    """Three rows in a plane have at most 6 patterns there; in space the h across it has all conditions at 0."""
    r, n = 2, 3
    most = 2 * sum(comb(n - 1, k) for k in range(r))
    assert most == 6 == len(patterns_of(((1, 0), (0, 1), (-1, -1))))
    assert len(patterns_of(((1, 0, 0), (0, 1, 0), (-1, -1, 0)), reach=2)) == 7


def test_proposition_4_prints_neurons_of_length_one() -> None:
    w, X = 2, (1, -1)  # w/||w|| = 1
    assert [max(x * w, 0) for x in X] != [max(x * 1, 0) for x in X]


def orthonormal(A: Array) -> tuple[Array, Array, Array]:
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    r = int((s > 1e-9).sum())
    return U[:, :r], s[:r], Vt[:r]


def test_the_pseudo_inverse_of_nic_k_promises_too_much() -> None:
    """Signs 1 and -1, patterns that differ in the third row. The printed (NIC-2) is 1/180^(1/2) < 1; z = (1, 1), which
    is on the wall of that row, taken from both neurons leaves the labels and costs 2 * 13^(1/2) in place of 10."""
    X, W, signs, z = ((-1, 0), (-1, 2), (2, -2), (2, -1)), ((3, 4), (4, 3)), (1, -1), (1, 1)

    def images(neurons: tuple[Row, ...]) -> list[list[int]]:
        return [[sum(a * b for a, b in zip(x, w, strict=True)) for x in X] for w in neurons]

    def labels(neurons: tuple[Row, ...]) -> list[int]:
        return [max(a, 0) - max(b, 0) for a, b in zip(*images(neurons), strict=True)]

    on = [tuple(int(a > 0) for a in image) for image in images(W)]
    assert on == [(0, 1, 0, 1), (0, 1, 1, 1)]
    dual = (0, Fraction(1, 30), 0, Fraction(-1, 30))
    equations = [[p * x[k] for p, x in zip(pattern, X, strict=True)] for pattern in on for k in (0, 1)]
    right = [Fraction(sign * a, 5) for w, sign in zip(W, signs, strict=True) for a in w]  # 5 is the length of both
    left = [sum(a * b for a, b in zip(row, dual, strict=True)) - c for row, c in zip(equations, right, strict=True)]
    # least squares of least norm: the pseudo-inverse, because three columns are independent and the first is zero
    assert all(sum(row[i] * a for row, a in zip(equations, left, strict=True)) == 0 for i in range(4))
    assert np.linalg.matrix_rank(np.array(equations)) == 3
    assert {abs(a) for a in left} == {Fraction(7, 10)}, "no dual has the planted directions"
    squares = {
        p: sum(sum(a * b * x[k] for a, b, x in zip(p, dual, X, strict=True)) ** 2 for k in (0, 1))
        for p in patterns_of(X) - {*on}
    }
    assert max(squares.values()) == Fraction(1, 180)

    cheaper = tuple(tuple(a - b for a, b in zip(w, z, strict=True)) for w in W)
    assert cheaper == ((2, 3), (3, 2))
    assert [tuple(int(a > 0) for a in image) for image in images(cheaper)] == on
    assert labels(cheaper) == labels(W) == [0, 3, -2, -3]
    assert 4 * 13 < 10**2  # (2 * 13^(1/2))^2

    patterns = np.array(sorted(patterns_of(X)), dtype=bool).T
    X_, units, signs_ = (np.array(of, dtype=float) for of in (X, np.transpose(W) / 5, signs))
    assert neural_isometry(ARCHITECTURES["relu"], X_, units, signs_, patterns, linear=False).value == np.inf


def test_the_pseudo_inverse_of_nnic_k_promises_too_much() -> None:
    """Signs 1 and -1, patterns that differ in the third row. The printed (NNIC-2) is .06; a multiple of z, which is on
    the wall of that row, taken from both neurons leaves the labels, the cones of (16), and a fifth of the cost."""
    rows, neurons = ((-2, -3), (-3, -3), (-2, 1), (1, 3)), ((-2, -3), (0, -2))
    X, W = np.array(rows, dtype=float), np.array(neurons, dtype=float)
    active = X @ W.T > 0
    assert active.T.tolist() == [[True, True, True, False], [True, True, False, False]]
    bases, units = [], []
    for w, on, sign in zip(W, active.T, (1, -1), strict=True):
        U, s, Vt = orthonormal(on[:, None] * X)
        unit = s * (Vt @ w)
        bases.append(U)
        units.append(sign * unit / np.linalg.norm(unit))
    equations, right = np.hstack(bases).T, np.concatenate(units)
    dual = np.linalg.pinv(equations) @ right
    assert np.linalg.norm(equations @ dual - right) > 1, "no dual has the planted directions"
    others = [np.array(p) for p in patterns_of(rows) if any(p) and p not in {tuple(on.astype(int)) for on in active.T}]
    assert max(np.linalg.norm(orthonormal(p[:, None] * X)[0].T @ dual) for p in others) < 0.06

    images = np.maximum(X @ W.T, 0)
    z, planted = np.array([-1.0, -2.0]), (W.T / np.linalg.norm(images, axis=0)).T
    assert X[2] @ z == 0
    cheaper = planted - 0.07 * z
    assert ((X @ cheaper.T > 0) == active).all()
    labels, same = (np.maximum(X @ V.T, 0) @ [1, -1] for V in (planted, cheaper))
    np.testing.assert_allclose(same, labels)
    assert np.linalg.norm(np.maximum(X @ cheaper.T, 0), axis=0).sum() < 0.4  # the planted neurons cost 2


def test_theorem_8_fails_where_rows_lie_across_the_neuron() -> None:
    """Entries 1/sqrt(n) or -1/sqrt(n): variance and proxy 1/n. The pattern of h = e_1 - e_2 leaves out rows (-1, 1),
    which are orthogonal to w = e_1 + e_2, so X^T D X (X^T X)^-1 w is w and something across it: never below |w|."""
    for signs in product(product((1, -1), repeat=2), repeat=5):
        a, b = len(signs), sum(x * y for x, y in signs)  # X^T X = n [[1, b/a], [b/a, 1]]
        if abs(b) == a:
            continue
        u = Fraction(1, a + b)  # (X^T X)^-1 w = u w
        image = [sum(x[i] * u * (x[0] + x[1]) for x in signs if x[0] - x[1] >= 0) for i in (0, 1)]
        assert image[0] ** 2 + image[1] ** 2 >= 2


def test_theorem_8_needs_the_proxy_of_the_rescaled_entries() -> None:
    """Entries 1 or -1 with probability 1/(2n) each, otherwise 0: variance 1/n, and proxy 1, as cosh x <= exp(x^2/2).

    A column is 0 with probability (1 - 1/n)^n. Then X^T X has no inverse, and (NIC-L) fails. Here d = 2.
    """
    assert all(factorial(2 * k) >= 2**k * factorial(k) for k in range(30)), "coefficients of cosh x and exp(x^2/2)"
    for n in (2, 10, 1000):
        no_column_is_zero = (1 - (1 - Fraction(1, n)) ** n) ** 2
        assert no_column_is_zero <= Fraction(9, 16) < 1 - 2 * exp(-2)  # the limit of the bound, with exp(-d)
    assert 1 - 2 * exp(2) < 0, "as printed it says nothing"


def test_lemma_3_as_printed() -> None:
    def claimed(n: int, d: int, t: float) -> float:
        """The logarithm of the stated probability of failure, with proxy 1."""
        return log(4) - n * t**2 / (162 * sqrt(2)) + d * log(54 * n) / 2

    # the entries of the test before this: one that is not 0 gives ||X^T D X|| >= 1 > 3/4 with h = e_j or -e_j
    n, d = 10**6, 2
    assert log(1 - (1 - 1 / n) ** (n * d)) > claimed(n, d, 1 / 4) + 200
    # N(0, 1/n), rescaled proxy 1: with h = e_1 or -e_1 the norm is at least half of the first column's square S. The
    # density of chi^2 falls at most as exp(-x/2), so that its tail is at least twice the density
    n, t = 100, 400
    assert log(2) + chi2.logpdf(n * (1 + 2 * t), n) > claimed(n, d, t) + 1e4


def test_theorem_10_needs_the_proxy_of_the_rescaled_entries() -> None:
    """The same entries, d = 1, no noise. If those that are not 0 have one sign, D = I is the pattern of some h and its
    neuron costs what the linear one costs, so that the linear one is not strictly optimal. So it needs both signs."""
    n = 60_000
    assert n >= 4000 * log(54 * n)
    both = 1 - 2 * (1 - 1 / (2 * n)) ** n + (1 - 1 / n) ** n
    assert both < 0.16 < 0.26 < 1 - 4 * exp(-n / 8000) - 2 * exp(-1)
    not_zero = 1 - (1 - 1 / n) ** n
    assert both / not_zero < 0.25, "of the draws with X != 0, too"


def test_theorem_10_fails_where_rows_lie_across_the_neuron() -> None:
    """Theorem 8's rows and w, no noise. The pattern D of h = e_1 - e_2 leaves out rows with x.w = 0 only: D X w = X w.

    So in (28), where U v = X w for v = S V^T w, the group D_j U can carry any share of the linear neuron's weight, at
    the same labels and the same norm: the linear neuron alone is never strictly optimal.
    """
    for x in product((1, -1), repeat=2):
        assert x[0] - x[1] >= 0 or x[0] + x[1] == 0
    rng = np.random.default_rng(8)
    X = rng.choice([-1.0, 1.0], size=(40, 3)) / sqrt(40)
    U, S, Vt = np.linalg.svd(X, full_matrices=False)
    w, active = np.array([1.0, 1.0, 0.0]), X[:, 0] - X[:, 1] >= 0
    linear = 0.5 * S * (Vt @ w)  # of any length, so for any beta
    assert not active.all()
    np.testing.assert_allclose(np.where(active, U @ linear, 0), U @ linear, atol=1e-15)
    n, d = 131_155, 2
    assert n >= max(4000 * d * log(54 * n), 1024 * d)
    assert 1 - 4 * exp(-n / 8000) - 2 * exp(-d) > 0.729


@pytest.mark.parametrize("half", [True, False])
def test_the_interval_of_proposition_21_needs_a_half(half: bool) -> None:
    """A_1 = e_1 planted, A_2 = (4/5, 3/5), so gamma = 1/5; y = e_1 + e_2/50, beta at the lower end."""
    gamma, z = Fraction(1, 5), Fraction(1, 50)
    assert z <= gamma / 2
    beta = z * (1 - z) / (gamma - z)
    scale = 1 if half else 2  # gradient of 1/2 ||.||^2, and of (125) as printed
    weight = 1 - beta / scale
    residual = (1 - weight, z)
    assert weight > 0
    assert scale * residual[0] == beta
    assert (scale * (4 * residual[0] + 3 * residual[1]) / 5 < beta) is half  # else A_2 becomes active


def coefficients(cosine: float) -> tuple[float, float, float]:
    """c_1, c_2 and c_3 of (144)."""
    t = np.arccos(cosine)
    slope = 1 / (2 * np.pi * np.sin(t))
    return (np.pi - t) / (2 * np.pi), slope, -cosine * slope


def test_145_and_158_with_their_corrections() -> None:
    """And Lemma 6 with w_2 w_1^T, where (152) prints w_2^T w_1."""
    w1, w2, _ = np.eye(3)
    across = np.outer(w1, w2)
    np.testing.assert_allclose(half_space_moment(w1, w2), np.eye(3) / 4 + (across + across.T) / (2 * np.pi))

    first, second = 0.3, -0.5
    h = np.array([first, second, sqrt(1 - first**2 - second**2)])
    c, m, e = coefficients(first), coefficients(-first), coefficients(second)
    right = (c[0] + first * c[1] + c[2] - m[0] + first * m[1] - m[2]) * w1
    right += (c[1] + first * c[2] + m[1] - first * m[2]) * h
    np.testing.assert_allclose(right, half_space_moment(h, w1) @ w1 - half_space_moment(h, -w1) @ w1)
    assert 2 * np.linalg.norm(right) == pytest.approx(float(opposite_limit(first)))
    twice = right + (c[1] + first * c[2] + m[1] - first * m[2]) * h
    assert 2 * np.linalg.norm(twice) == pytest.approx(1.286, abs=1e-3)

    a, b = 0.8, -0.3  # a_11 = a_22 and a_12 = a_21, any numbers
    right = a * ((c[0] + first * c[1] + c[2]) * w1 + (c[1] + first * c[2]) * h)
    right += b * (second * c[1] * w1 + c[0] * w2 + second * c[2] * h)
    right += b * (first * e[1] * w2 + e[0] * w1 + first * e[2] * h)
    right += a * ((e[0] + second * e[1] + e[2]) * w2 + (e[1] + second * e[2]) * h)
    moments = half_space_moment(w1, h) @ (a * w1 + b * w2) + half_space_moment(w2, h) @ (b * w1 + a * w2)
    np.testing.assert_allclose(right, moments)


def test_the_square_of_proposition_23_belongs_to_sigma() -> None:
    """||mu_1|| = 6, opposite means, sigma = 2, one row of each class and the second far away: with 4 sigma, squared or
    not, the first term promises more than the law Phi(3)."""
    law, spread = float(norm.cdf(3)), 2 * 6**2
    for exponent, below in ((spread / (4 * 2), False), ((spread / (4 * 2)) ** 2, False), (spread / (4 * 2**2), True)):
        assert (1 - exp(-exponent) < law) is below


def test_53_prints_the_first_neuron_for_the_last() -> None:
    """Proposition 16 of P1 for groups of one column: the printed condition holds beside a cheaper optimum."""
    A, planted = np.array([[1, 0, 1], [0, 1, -1]]), np.array([1, -1, 0])
    directions, printed = planted[:2], np.array([1, 1])
    others = A[:, 2] @ A[:, :2]  # A_S is the identity
    assert abs(others @ printed) == 0
    assert abs(others @ directions) == 2
    assert (A @ planted).tolist() == A[:, 2].tolist()
    assert np.abs(planted).sum() == 2
