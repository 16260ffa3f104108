"""Statements of P1 that are about draws or matrices, on draws of these tests' own."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, linprog
from scipy.stats import norm

from recovery.instances.all_ones import decide_all_ones
from recovery.instances.arrangements import cell_count, enumerate_cells
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.isometry import Isometry
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.theory.mixture import split_bound, split_probability
from recovery.theory.moments import half_space_moment
from recovery.theory.wendel import theorem7_failure, wendel
from tests.conditions.isometry import neural_isometry
from tests.conditions.test_maximal import is_maximal


@pytest.mark.parametrize("seed", range(10))
def test_theorem_6_where_the_planted_neuron_is_positive_on_every_row(seed: int) -> None:
    """n < 2d and X w* >= 0: the planted neuron is never the unique optimum, of the exact program either."""
    setting = Setting(10, 9, planted=Linear(direction="nonnegative"))
    instance = draw(setting, np.random.default_rng(seed))
    row = MinNorm("exact")(instance, ARCHITECTURES["relu_skip"])
    assert row["all_ones"]
    assert row["recovered"] is False


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_corollary_1_the_linear_neuron_alone_is_never_the_only_optimum(seed: int, share: float) -> None:
    """X w* >= 0 and a penalty: let v be the best linear neuron. A part t of it as a ReLU neuron costs as much, and adds
    t (-X v)_+ to the outputs, on rows where the residual is positive. If X v >= 0, the fit is the same."""
    X, planted = np.random.default_rng(seed).standard_normal((16, 12)) / 4, np.eye(12)[0]
    X *= np.sign(X @ planted)[:, None]
    y = X @ planted
    values, axes = np.linalg.eigh(X.T @ X)
    b = axes.T @ X.T @ y
    beta = share * np.linalg.norm(b)
    length = brentq(lambda t: np.linalg.norm(b / (t * values + beta)) - 1, 0.0, 1e3)
    v = length * axes @ (b / (length * values + beta))
    r, added = y - X @ v, np.maximum(-X @ v, 0)
    np.testing.assert_allclose(X.T @ r, beta * v / np.linalg.norm(v), atol=1e-9)  # v is the best linear neuron
    assert r @ added > 0 or not added.any()
    t = min(1.0, r @ added / (added @ added)) if added.any() else 1.0
    error = y - (1 - t) * X @ v - np.maximum(t * X @ v, 0)
    assert error @ error < r @ r if added.any() else np.allclose(error, r, atol=1e-12)


def test_lemma_5() -> None:
    """U_i^T U_j = I for column-orthonormal matrices only where they are equal: else a column's product is below 1."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        U, V = (np.linalg.qr(rng.standard_normal((7, 3)))[0] for _ in range(2))
        assert np.diagonal(U.T @ V).max() < 1.0
        off = np.linalg.norm(U - V, axis=0) ** 2
        np.testing.assert_allclose(np.diagonal(U.T @ V), 1.0 - off / 2)


@pytest.mark.parametrize("cosine", [-0.6, 0.0, 0.8])
def test_lemma_7(cosine: float) -> None:
    """(160) by quadrature: both of its formulas hold."""
    M = half_space_moment([1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)])
    slope = cosine / np.sqrt(1 - cosine**2)
    value, _ = quad(lambda x: (1 - norm.cdf(-slope * x)) * norm.pdf(x) * x**2, 0, 12)
    assert M[0, 0] == pytest.approx(value, abs=1e-9)
    assert M[0, 1] == pytest.approx((1 - cosine**2) / (2 * np.pi))


def test_the_bound_of_theorem_7_is_a_bound_for_the_gated_program() -> None:
    """The all-ones pattern alone makes it fail: P(recovered) <= 1 - P(all-ones) <= the bound."""
    n, d = np.meshgrid(np.arange(10, 200, 7), np.arange(6, 110, 9))
    below = n < 2 * d
    assert (1 - wendel(n, d)[below] <= theorem7_failure(n, d)[below]).all()
    assert (theorem7_failure(n, d)[~below] == 1).all()
    assert float(theorem7_failure(110, 100)) == pytest.approx(0.75, abs=0.01)


# Slips of P1 that arithmetic shows, one test each; docs/findings/P1.md lists them.


def test_the_penalty_of_normalised_networks_has_no_least_value() -> None:
    """R(Theta) has ||W_1||^2, and the output is the same for W_1/10: (9) and (10) have no minimiser."""
    rng = np.random.default_rng(9)
    X, W1, alpha, w2 = (rng.standard_normal(shape) for shape in ((8, 3), (3, 4), 4, 4))

    def output(W: np.ndarray) -> np.ndarray:
        hidden = np.maximum(X @ W, 0.0)
        return hidden / np.linalg.norm(hidden, axis=0) @ (alpha * w2)

    np.testing.assert_allclose(output(W1 / 10), output(W1))


def test_the_weights_that_theorem_10_prints_are_in_other_coordinates() -> None:
    """The optimum is U w. The printed first layer mu w gives X w, and V Sigma^{-1} w with ||w|| gives U w."""
    rng = np.random.default_rng(10)
    X, w = rng.standard_normal((9, 3)), rng.standard_normal(3)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)

    def output(first: np.ndarray, scale: float) -> np.ndarray:
        return scale * X @ first / np.linalg.norm(X @ first)

    printed = output(w, float(np.linalg.norm(X @ w)))
    np.testing.assert_allclose(printed, X @ w)
    assert np.linalg.norm(printed - U @ w) > 0.1 * np.linalg.norm(w)
    np.testing.assert_allclose(output(Vt.T @ (w / s), float(np.linalg.norm(w))), U @ w)


def test_83_and_84_turn_the_symmetrisation_around() -> None:
    """Z in {-1, 0, 1}, P(Z = 1) = P(Z = -1) = p, t = 1: (83) states P(A)^2 >= P(B), (84) P(A) <= sqrt(P(B)).

    A: |Z - E Z| >= t; B: |Z - Z'| >= 2t for an independent copy Z'. With p = 1/10, P(A) = 1/5, P(B) = 2/100, so (84)
    fails, as does P(A) <= 2 P(B). Right is P(A_t) <= 2 P(|Z - Z'| >= t/2) if P(A_{t/2}) <= 1/2. For rare Z, (83) fails.
    """
    p = Fraction(1, 10)
    far, apart = 2 * p, 2 * p * p
    assert far**2 > apart, "(84)"
    assert far > 2 * apart, "a factor 2 with 2t does not help"
    halfway = 1 - (p * p + (1 - 2 * p) ** 2 + p * p)  # P(|Z - Z'| >= 1/2) = P(Z != Z')
    assert far <= Fraction(1, 2), "the condition: P(|Z| >= 1/2) = P(A)"
    assert far <= 2 * halfway
    rare = Fraction(1, 100)  # Z = 10 with this probability and otherwise 0, t = 4
    assert 10 * rare < 4 <= 10 - 10 * rare
    assert rare**2 < 2 * rare * (1 - rare), "(83)"


@pytest.mark.parametrize(
    ("architecture", "planted"),
    [
        ("relu_skip", Linear()),
        ("relu", Relu(k=1)),
        ("relu", Relu(k=2, geometry="opposite")),
        ("relu_norm", NormalizedRelu(k=1)),
        ("relu_norm", NormalizedRelu(k=2, geometry="opposite")),
    ],
)
def test_the_conditions_imply_recovery(architecture: str, planted: Planted) -> None:
    """Propositions 1 to 5, on sampled patterns: where the condition holds, a conic solver finds the planted neurons."""
    met, own = 0, ARCHITECTURES[architecture]
    for seed in range(20):
        instance = draw(Setting(30, 3, planted=planted, patterns=Patterns(count=12)), np.random.default_rng(seed))
        if Isometry()(instance, own)["holds"]:
            met += 1
            assert MinNorm(solver="CLARABEL")(instance, own)["max_deviation"] <= 5e-3
    assert met >= 4


def test_conclusions_of_propositions_8_and_9() -> None:
    """d = 2, n = 40, all patterns: one ReLU neuron and two orthogonal normalised ones are recovered in 12 of 12 draws.

    The conditions (NIC-1) and (NNIC-2), from which P1 concludes this, fail in most of these draws.
    """
    models = {"relu": Relu(k=1), "relu_norm": NormalizedRelu(k=2, geometry="basis")}
    for architecture, planted in models.items():
        setting = Setting(40, 2, planted=planted, patterns=Patterns(kind="exhaustive"))
        rows = [
            MinNorm("gated")(draw(setting, np.random.default_rng(seed)), ARCHITECTURES[architecture])
            for seed in range(12)
        ]
        assert [row["recovered"] for row in rows] == [True] * 12
        assert any(row["certificate"] != "isometry" for row in rows)


def test_91_adds_parameters_where_squares_belong() -> None:
    """A product of two entries grows as sigma^2; the printed parameter of its sum grows as sigma."""
    sigma = np.array([1.0, 3.0])
    each = 4 * np.sqrt(2) * sigma**2
    printed, true = np.sqrt(7 * each), np.sqrt(7 * each**2)
    assert np.isclose(printed[1] / printed[0], 3.0)
    assert np.isclose(true[1] / true[0], 9.0)


def test_108_promises_that_a_random_subspace_meets_a_point() -> None:
    """K is one point: w(K) = 0, and L meets it never. The square and the complement are missing in print."""
    k = 600
    assert 1 - 3.5 * np.exp(-np.sqrt(k - 1) / 18) > 0.1  # a_k > sqrt(k - 1)


def test_50_depends_on_the_length_of_the_planted_neuron() -> None:
    """Doubling y doubles every optimum. The printed condition holds for w*, and not for 2 w*."""
    w, A = (Fraction(3, 5), Fraction(4, 5)), (Fraction(0), Fraction(7, 10))  # A = diag(0, 7/10)
    square = sum((a * b) ** 2 for a, b in zip(A, w, strict=True))
    assert square < 1 < 4 * square
    X, neuron = np.random.default_rng(50).standard_normal((9, 2)), np.array(w, dtype=float)[:, None]
    own = [
        neural_isometry(ARCHITECTURES["relu"], X, c * neuron, np.ones(1), enumerate_cells(X)[0], linear=False).value
        for c in (1, 2)
    ]
    assert own[1] == pytest.approx(own[0])


def test_proposition_24_leaves_no_pattern_maximal() -> None:
    """X = (1, -1)^T, D = diag(1, 0) is maximal. -K_- = [0, inf) has 0, which the interior of K_+ = [0, inf) lacks."""
    X = np.array([1.0, -1.0])
    pattern, other = X > 0, -X > 0
    assert not (pattern & other == pattern).all(), "no other pattern contains it"
    assert (X[pattern] > 0).all(), "so K_+ lies on one side, and 0 on its boundary"
    assert is_maximal(X[:, None], pattern)


def test_the_sentence_after_proposition_6_has_its_sides_exchanged() -> None:
    assert float(wendel(60, 20)) < 0.01  # n > 2d: "close to 1" in print
    assert float(wendel(30, 20)) > 0.9  # n < 2d: "close to 0" in print


def test_162_has_a_square_in_the_moments_across() -> None:
    """E[x1 x3 1(x1 > 0) 1(h.x > 0)] has sqrt(1 - gamma1^2), not 1 - gamma1^2; its twin in a_22 has gamma2."""
    h = np.array([0.6, 0.48, 0.64])
    for first in (0, 1):
        moment, root = half_space_moment(np.eye(3)[first], h), np.sqrt(1 - h[first] ** 2)
        np.testing.assert_allclose(moment[first, 2], root * h[2] / (2 * np.pi))
        np.testing.assert_allclose(moment[first, 1 - first], root * h[1 - first] / (2 * np.pi))
        assert abs(moment[first, 2] - (1 - h[0] ** 2) * h[2] / (2 * np.pi)) > 1e-3


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_the_number_of_patterns_is_at_most_its_bound(d: int) -> None:
    for n in range(d + 1, 60):
        own = 2 * sum(comb(n - 1, k) for k in range(d))
        assert cell_count(n, d) == own <= 2 * d * (np.e * (n - 1) / d) ** d


def test_7_is_nic_l_for_every_neuron() -> None:
    X = np.random.default_rng(7).standard_normal((9, 3))
    inverse = np.linalg.inv(X.T @ X)
    for pattern in enumerate_cells(X)[0].T:
        operator = X.T @ (pattern[:, None] * X) @ inverse
        removed = X[~pattern]
        printed = np.eye(3) - removed.T @ removed @ inverse
        w = np.linalg.svd(operator)[2][0]
        assert np.linalg.norm(printed, 2) == pytest.approx(np.linalg.norm(operator @ w))


@pytest.mark.parametrize("seed", range(5))
def test_the_zero_vector_adds_no_neuron(seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((14, 3))
    assert not decide_all_ones(X).exists
    # neurons of the pattern of h = 0 have X w >= 0; the largest sum of entries of X w among them is 0
    found = linprog(-X.sum(axis=0), A_ub=-X, b_ub=np.zeros(14), bounds=[(-1, 1)] * 3)
    assert found.fun == pytest.approx(0.0, abs=1e-9)


def test_19_for_patterns_without_common_rows() -> None:
    rng = np.random.default_rng(19)
    X, w = rng.standard_normal((30, 4)), rng.standard_normal(4)
    bases, images, weights = [], [], []
    for neuron in (w, -w):
        U, s, V = np.linalg.svd((X @ neuron >= 0)[:, None] * X, full_matrices=False)
        unit = s * (V @ neuron)
        bases.append(U)
        weights.append(unit / np.linalg.norm(unit))
        images.append(np.maximum(X @ neuron, 0) / np.linalg.norm(np.maximum(X @ neuron, 0)))
    dual = np.linalg.pinv(np.hstack(bases).T) @ np.concatenate(weights)
    for h in rng.standard_normal((20, 4)):
        U = np.linalg.svd((X @ h >= 0)[:, None] * X, full_matrices=False)[0]
        assert np.linalg.norm(U.T @ dual) == pytest.approx(np.linalg.norm(U.T @ sum(images)))


@pytest.mark.parametrize("half", [True, False])
def test_the_distance_bound_of_theorem_10(half: bool) -> None:
    rng = np.random.default_rng(10)
    for _ in range(50):
        U = np.linalg.qr(rng.standard_normal((20, 4)))[0]
        w = rng.standard_normal(4)
        z, eta = rng.standard_normal(20), np.linalg.norm(w)
        z *= rng.uniform(0, 0.9) * eta / np.linalg.norm(z)
        noise = np.linalg.norm(z)
        beta = rng.uniform(0, eta - noise)
        seen = U.T @ (U @ w + z)
        shrunk = beta if half else beta / 2  # of 1/2 ||U v - y||^2 + beta ||v||, or of (28) as printed
        v = max(0.0, 1 - shrunk / np.linalg.norm(seen)) * seen
        assert np.linalg.norm(v - w) <= beta * eta / (eta - noise) + noise + 1e-12


def test_slips_of_156_and_198() -> None:
    # unknowns a_11, a_12, a_21, a_22: the equations that follow from (155), and those that are printed
    right = np.array([[1, 0, 0.5, 1 / np.pi], [0, 1, 1 / np.pi, 0.5], [0.5, 1 / np.pi, 1, 0], [1 / np.pi, 0.5, 0, 1]])
    printed = np.array(
        [[1, 0, 0.5, 1 / np.pi], [0, 1 + 1 / np.pi, 0, 0.5], [0.5, 0, 1 + 1 / np.pi, 0], [1 / np.pi, 0.5, 0, 1]]
    )
    solution = np.linalg.solve(right, [1, 0, 0, 1])
    assert np.linalg.solve(printed, [1, 0, 0, 1]) == pytest.approx(solution)
    assert solution[1] == pytest.approx(solution[2])
    assert solution[1] < 0  # (157) prints a positive number
    mu = np.array([3.0, 4.0])
    assert np.linalg.norm(np.outer(np.ones(9), mu)) == pytest.approx(np.sqrt(9) * 5)


def test_the_condition_on_sigma_after_proposition_23() -> None:
    n1, n2, delta = 12, 30, 0.05
    for cosine, first, second in [(0.0, 1.0, 2.0), (0.5, 3.0, 1.0), (-1.0, 0.5, 0.7)]:
        sigma = np.sqrt(1 - cosine) * min(first, second) / (2 * np.sqrt(np.log((n1 + n2) / delta)))
        law = {"length1": first, "length2": second, "cosine": cosine, "sigma": sigma, "n1": n1, "n2": n2}
        assert 1 - delta <= split_bound(**law) <= split_probability(**law)
