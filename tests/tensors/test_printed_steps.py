"""P4's Algorithms 1 to 6 against what the paper says of them, and against another solver."""

from fractions import Fraction
from itertools import combinations, product
from math import factorial

import cvxpy as cp
import numpy as np
import pytest
from scipy.special import eval_hermitenorm, ndtr
from scipy.stats import norm

from recovery.programs.relu_network import ReluNetwork, function_error, parameter_error
from recovery.tensors.hermite import exact, from_samples
from recovery.tensors.jennrich import decompose, rank_above
from recovery.tensors.learner import LearnOptions, learn, paired_weights
from recovery.tensors.printed_steps import ACCURACY, fix_signs, truncated_regression
from recovery.tensors.scalars import scalars
from tests.tensors.networks import draw_network


def turned(network: ReluNetwork, wrong: np.ndarray) -> ReluNetwork:
    sign = np.where(wrong, -1.0, 1.0)
    return ReluNetwork(network.W * sign[:, None], network.b * sign, network.a)


@pytest.mark.parametrize("m", [1, 4, 8])
def test_algorithm_3_finds_every_sign_from_the_exact_first_moment(m):
    """Lemma 3.5: the solution of the system is xi_i Phi(b_i)."""
    rng = np.random.default_rng(m)
    network = draw_network(m, 8, m, bias=2.0)
    first = exact(network, 1, np.eye(8)).moments.whole[1]
    z = np.linalg.lstsq((network.W * network.a[:, None]).T, first, rcond=None)[0]
    assert np.allclose(z, ndtr(network.b), rtol=0, atol=1e-12)
    for _ in range(5):
        wrong = rng.random(m) < 0.5
        assert np.array_equal(fix_signs(turned(network, wrong).W, network.a, first), wrong)


def test_algorithm_6_gives_every_parameter_of_exact_moments():
    for seed in range(4):
        network = draw_network(seed, 8, 5)
        learned = learn(
            exact(network, 1, np.eye(8)),
            5,
            np.random.default_rng(0),
            options=LearnOptions(joint=False, printed_signs=True),
        )
        assert parameter_error(learned.units, network) < 1e-7


def test_algorithm_3_takes_signs_from_noise():
    """At b = -4 the number whose sign decides is 3e-5, far below the noise of 2 000 rows."""
    X = np.random.default_rng(0).standard_normal((2000, 4))
    wrong = 0
    for seed in range(20):
        drawn = draw_network(seed, 4, 2)
        network = ReluNetwork(drawn.W, np.array([-4.0, 0.5]), np.array([1.0, 1.0]))
        estimate = from_samples(X, network(X), 1, np.eye(4))
        learned = learn(estimate, 2, np.random.default_rng(0), None, LearnOptions(False, True, True))
        error = parameter_error(learned.units, network)
        wrong += error is None or error > 0.5
    assert wrong > 0


def loss(network: ReluNetwork, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean((network(X) - y) ** 2))


@pytest.mark.parametrize(
    ("m", "noise", "off", "size"), [(1, 0.0, 0.0, 1), (3, 0.0, 0.1, 1), (3, 1.0, 0.3, 1), (2, 0.0, 0.1, 100)]
)
def test_algorithm_5_is_within_its_accuracy_of_the_least_loss(m, noise, off, size):
    """All eight features, the ball (labels of size 100 reach it) and no truncation, put to another solver."""
    rng = np.random.default_rng(m)
    planted = draw_network(m, 4, m)
    X = rng.standard_normal((300, 4))
    y = size * planted(X) + noise * rng.standard_normal(300)
    near = ReluNetwork(planted.W + off * rng.standard_normal((m, 4)), planted.b, planted.a).unit()
    found = truncated_regression(X, y, near, m)
    assert len(found.a) == 2 * m + 2
    columns = [
        c * near.a * np.maximum(s * X @ near.W.T + t * near.b, 0) for s in (1, -1) for t in (1, -1) for c in (1, -1)
    ]
    phi = np.hstack([*columns, X, np.ones((300, 1))])
    bound = max(1.0, *np.abs(near.a), *(1 / np.abs(near.a)), *np.abs(near.b))
    beta = cp.Variable(phi.shape[1])
    ball = cp.norm(beta) <= np.sqrt(8 * m) + m * (1 + bound)
    least = cp.Problem(cp.Minimize(cp.sum_squares(phi @ beta - y) / 300), [ball]).solve(solver="CLARABEL")
    assert (np.linalg.norm(beta.value) > 0.999 * ball.args[1].value) == (size > 1)
    rounding = 1e-7 * np.mean(y**2)
    assert least - rounding <= loss(found, X, y) <= least + (ACCURACY**2 * np.mean(y**2)) / 100 + rounding


def test_algorithm_5_needs_no_signs():
    planted = draw_network(3, 6, 4)
    X = np.random.default_rng(0).standard_normal((5000, 6))
    found = truncated_regression(X, planted(X), turned(planted, np.array([True, False, True, True])), 4)
    assert function_error(found, planted) < 2e-2


@pytest.mark.parametrize("kind", ["no units", "zero labels", "a zero outer weight", "repeated units", "repeated rows"])
def test_algorithm_5_takes_what_a_stranger_brings(kind):
    planted = draw_network(5, 4, 2)
    X = np.random.default_rng(0).standard_normal((200, 4))
    if kind == "repeated rows":
        X = np.repeat(X[:3], 60, axis=0)
    y = np.zeros(len(X)) if kind == "zero labels" else planted(X)
    units = {
        "no units": ReluNetwork(np.empty((0, 4)), np.empty(0), np.empty(0)),
        "a zero outer weight": ReluNetwork(planted.W, planted.b, planted.a * [0, 1]),
        "repeated units": planted + planted,
    }.get(kind, planted)
    found = truncated_regression(X, y, units, 2)
    linear = np.column_stack([X, np.ones(len(X))])
    fitted = linear @ np.linalg.lstsq(linear, y, rcond=None)[0]
    assert loss(found, X, y) <= np.mean((fitted - y) ** 2) + 1e-6


def coefficients_of(network: ReluNetwork, j: int) -> np.ndarray:
    """zeta_j(i) = (-1)^j a_i He_{j-2}(b_i) phi(b_i), of T_j = sum_i zeta_j(i) w_i^{(x)j} (P4, Lemma 3.5)."""
    density = np.exp(-(network.b**2) / 2) / np.sqrt(2 * np.pi)
    return (-1.0) ** j * network.a * eval_hermitenorm(j - 2, network.b) * density


@pytest.mark.parametrize(("order", "d", "m"), [(1, 6, 5), (2, 4, 7)])
def test_algorithm_2_is_the_formula_of_lemma_45(order, d, m):
    """Biases and outer weights, unit by unit, from the four (l = 1: two) coefficients that the paper names."""
    network = draw_network(m, d, m, bias=2.0)
    turn = np.where(np.arange(m) % 2 == 0, 1.0, -1.0)
    b, a = scalars(exact(network, order, np.eye(d)).moments, turn[:, None] * network.W)
    zeta = {j: turn**j * coefficients_of(network, j) for j in range(2, 6)}
    for i in range(m):
        gamma = [zeta[j][i] for j in range(2, 6)]
        if order == 1:
            z = -gamma[1] / gamma[0]
            outer = gamma[0] * np.sqrt(2 * np.pi) * np.exp(z**2 / 2)
        else:
            q = max((1, 2), key=lambda j: abs(gamma[j]))
            z = -(gamma[q + 1] + q * gamma[q - 1]) / gamma[q]
            outer = (-1.0) ** q * gamma[q] / eval_hermitenorm(q, z) * np.sqrt(2 * np.pi) * np.exp(z**2 / 2)
        assert b[i] == pytest.approx(z, abs=1e-9)
        assert a[i] == pytest.approx(outer, rel=1e-9)
        assert b[i] == pytest.approx(turn[i] * network.b[i], abs=1e-9)
        assert a[i] == pytest.approx(network.a[i], rel=1e-9)


def test_algorithm_1_takes_from_each_order_the_units_that_it_has():
    """Claim 4.4: b = 0 is not in T_3, b = +-1 are not in T_4; the union without duplicates has all, each once."""
    drawn = draw_network(3, 6, 5)
    network = ReluNetwork(drawn.W, np.array([0.0, 1.0, -1.0, 0.5, -0.3]), drawn.a)
    found = exact(network, 1, np.eye(6))
    third, fourth = found.moments.odd, found.moments.even
    assert rank_above(third, 1e-10, 6) == 4
    assert rank_above(fourth, 1e-10, 6) == 3
    for matrices, hidden in ((third, {0}), (fourth, {1, 2})):
        terms = decompose(matrices, 5 - len(hidden), np.random.default_rng(0), joint=False)
        near = np.abs(network.W @ terms.V).max(axis=1) > 1 - 1e-9
        assert {i for i in range(5) if not near[i]} == hidden
    learned = learn(found, 5, np.random.default_rng(0), options=LearnOptions(joint=False, printed_signs=True))
    assert parameter_error(learned.units, network) < 1e-9


def test_algorithm_4_merges_what_two_orders_find_twice_and_drops_what_noise_hides():
    network = draw_network(5, 6, 3)
    X = np.random.default_rng(5).standard_normal((200_000, 6))
    estimate = from_samples(X, network(X), 1, np.eye(6))
    counted = paired_weights(estimate.moments, estimate.error, 6, False, np.random.default_rng(0))
    assert 1 <= len(counted) <= 3
    told = paired_weights(estimate.moments, estimate.error, 3, True, np.random.default_rng(0))
    assert np.abs(told @ network.W.T).max(axis=0).min() > 0.9


def test_fact_a3_and_claim_d8():
    x, h = np.linspace(-5, 5, 201), 1e-5
    for k in range(1, 6):
        previous = [(-1) ** (k - 1) * eval_hermitenorm(k - 1, t) * norm.pdf(t) for t in (x - h, x + h)]
        derivative = (-1) ** k * eval_hermitenorm(k, x) * norm.pdf(x)
        assert np.allclose((previous[1] - previous[0]) / (2 * h), derivative, atol=1e-8)
        assert np.allclose(derivative, eval_hermitenorm(k, -x) * norm.pdf(x))
    x = np.linspace(-12, 12, 2001)
    for k in range(40):
        largest = np.max(np.abs(eval_hermitenorm(k, x)) * np.exp(-(x**2) / 2))
        assert largest <= np.sqrt(float(factorial(k))) * (1 + 1e-12)


def kruskal_rank(M):
    """The largest k such that each k columns are independent."""
    columns = range(M.shape[1])
    return max(
        k
        for k in range(M.shape[1] + 1)
        if all(np.linalg.matrix_rank(M[:, list(s)]) == k for s in combinations(columns, k) if k)
    )


def test_fact_47_is_a_lower_bound():
    U, V = np.array([[1, 0, 1, 1], [0, 1, 1, 2]]), np.array([[1, 1, 0, 1], [1, 2, 1, 5]])
    products = np.stack([np.kron(u, v) for u, v in zip(U.T, V.T, strict=True)], axis=1)
    assert kruskal_rank(U) == kruskal_rank(V) == 2
    assert round(np.linalg.det(products)) != 0  # whole numbers: 4 columns are independent, and 2 + 2 - 1 is 3
    assert kruskal_rank(products) == 4 >= min(2 + 2 - 1, 4)


@pytest.mark.parametrize("b", [-1.0, 0.0, 0.7])
def test_proposition_b1_for_one_unit(b):
    """For w = e_1 the moments of order k are those of He_k(z); two units that differ in a and b."""
    z = np.linspace(-12, 12, 100001)
    weight = norm.pdf(z) * (z[1] - z[0])
    f, g = np.maximum(z + b, 0), 0.5 * np.maximum(z - 0.3, 0)
    moments = [weight @ ((f - g) * eval_hermitenorm(k, z)) for k in range(61)]
    risk = sum(c**2 / factorial(k) for k, c in enumerate(moments))
    assert risk == pytest.approx(weight @ (f - g) ** 2, rel=1e-2)
    assert weight @ f == pytest.approx(b * norm.cdf(b) + norm.pdf(b), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_claims_d2_d5_and_d6(seed):
    rng = np.random.default_rng(seed)
    for order in (2, 3, 4):
        a = rng.standard_normal(6)
        largest = np.abs(a).max() ** (2 * order)
        assert abs(a.sum()) ** (2 * order) <= 6 ** (2 * order) * largest
        u = rng.standard_normal(3)
        v = u + 10 ** rng.uniform(-3, 0) * rng.standard_normal(3)
        u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)

        def power(x, t):
            return x if t == 1 else np.kron(x, power(x, t - 1))

        least = [np.linalg.svd(np.column_stack([power(u, t), power(v, t)]))[1][1] for t in (1, order)]
        assert least[0] >= least[1] / np.sqrt(2 * order)
        alpha, beta = rng.uniform(0.5, 2, 2)
        epsilon = np.linalg.norm(alpha * power(u, order) - beta * power(v, order))
        assert abs(alpha - beta) <= epsilon + 1e-12  # P4 has 3 epsilon
        if epsilon < alpha / 2:
            for t in range(1, order + 1):
                nearest = min(np.linalg.norm(power(u, t) - sign**t * power(v, t)) for sign in (1, -1))
                assert nearest <= np.sqrt(2) * epsilon / alpha + 1e-12


def products(U, V):
    return np.stack([np.kron(u, v) for u, v in zip(U.T, V.T, strict=True)], axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_claim_a4_for_independent_columns_and_without_its_factor(seed):
    """s_k(U o V) >= kappa s_k(U) with no 1 / sqrt(2 k). Its rank is k only if that of U is: all ones have rank 1."""
    rng = np.random.default_rng(seed)
    for k in (2, 4):
        U, V = rng.standard_normal((5, k)), rng.standard_normal((3, k))
        least = [np.linalg.svd(M)[1][k - 1] for M in (U, products(U, V))]
        assert least[1] >= np.linalg.norm(V, axis=0).min() * least[0] * (1 - 1e-12)
    ones = np.ones((2, 2), dtype=int)
    assert kruskal_rank(products(ones, ones)) == np.linalg.matrix_rank(products(ones, ones)) == 1


def scalar_formula(gamma, k):
    """Return (34) of P4 for gamma_k to gamma_{k+3}, without its division by the density."""
    q = max((k + 1, k + 2), key=lambda j: abs(gamma[j]))
    z = -(gamma[q + 1] + q * gamma[q - 1]) / gamma[q]
    return q, z, (-1.0) ** q * gamma[q] / eval_hermitenorm(q, z)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_lemma_45_is_an_identity_at_the_roots_too(k):
    roots = np.polynomial.hermite_e.HermiteE.basis(k + 1).roots()
    for z in (*np.linspace(-4, 4, 33), *roots):
        for sign in (1, -1):
            gamma = {j: (-sign) ** j * 0.7 * eval_hermitenorm(j, z) for j in range(k, k + 4)}
            _, found, beta = scalar_formula(gamma, k)
            assert found == pytest.approx(sign * z, abs=1e-9)
            assert beta == pytest.approx(0.7, rel=1e-9)


def noisy_scalars(k, alpha, z, sign, errors):
    """Return the estimates of Lemma D.10, or of Lemma D.11 for k = 1, from gamma_j that are off by `errors`."""
    orders = range(2) if k == 1 else range(k, k + 4)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    gamma = {
        j: alpha * (-1.0) ** j * density * eval_hermitenorm(j, sign * z) + e
        for j, e in zip(orders, errors, strict=True)
    }
    if k == 1:
        found = -gamma[1] / gamma[0]
        return found, gamma[0] * np.sqrt(2 * np.pi) * np.exp(found**2 / 2)
    _, found, scale = scalar_formula(gamma, k)
    return found, scale * np.sqrt(2 * np.pi) * np.exp(found**2 / 2)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_lemmas_d10_and_d11_bound_by_epsilon_and_not_by_their_printed_middle(k):
    """epsilon |z| / (B + 1) is 0 at z = 0, where the estimate of z is off by the error; epsilon itself is a bound."""
    count, epsilon, B = (2 if k == 1 else 4), 0.2, 1.0
    c = 16 if k == 1 else 16 * factorial(k + 3)
    error = epsilon**4 / (2 * (1 + B) ** 2)
    assert c / (epsilon**0.25 * (1 + B) ** 3) > 1  # z = 0 meets condition (ii)
    shown = []
    for signs in product((1, -1), repeat=count):
        shown.append(abs(noisy_scalars(k, 1.0, 0.0, 1, error * np.array(signs))[0]))
        for z in np.linspace(-1, 1, 9):
            if abs(z) < 2 * np.sqrt(np.log(c / (epsilon**0.25 * (1 + B) ** 3))):
                for sign in (1, -1):
                    found, alpha = noisy_scalars(k, 1.0, z, sign, error * np.array(signs))
                    assert abs(found - sign * z) <= epsilon
                    assert abs(alpha - 1.0) <= epsilon
    assert max(shown) > 1e-4


def linear_part_error(b):
    """Return the least E((z + b)_+ - linear)^2 over linear functions of z, for a standard normal z."""
    mean = b * norm.cdf(b) + norm.pdf(b)
    return (b**2 + 1) * norm.cdf(b) + b * norm.pdf(b) - mean**2 - norm.cdf(b) ** 2


def test_lemma_d13_needs_the_logarithm_of_m_d_b_over_epsilon():
    """At m = 1, B = 3 and d = 1 / (6 epsilon) the printed bias is 3 sqrt(log 2), and the error stays as epsilon falls.

    With log(m d B / epsilon) the unit is linear up to epsilon^2: E (z + b)_-^2 is at most 2 phi(b) / b^3.
    """
    for epsilon in (1e-3, 1e-5, 1e-7):
        d, B = round(1 / (6 * epsilon)), 3
        b = 3 * np.sqrt(np.log(1 / (epsilon * d * B)))
        assert b <= B
        assert linear_part_error(b) > 1e-4
        b = 3 * np.sqrt(np.log(d * B / epsilon))
        assert 2 * norm.pdf(b) / b**3 < epsilon**2


def test_claim_d14_in_fractions():
    """a relu(z) + a' relu(-z) = (a + a') relu(z) - a' z, and z = relu(z) - relu(-z)."""

    def relu(z):
        return max(z, Fraction(0))

    pairs = [(Fraction(2, 3), Fraction(-1, 5)), (Fraction(-3, 4), Fraction(7, 2))]
    units = [(Fraction(3, 5), Fraction(1, 7)), (Fraction(-1), Fraction(2))]  # w, b in one variable
    v, c = Fraction(1, 3), Fraction(-2)
    for x in (Fraction(k, 4) for k in range(-20, 21)):
        printed = v * x + c
        slope, offset = v, c
        merged = Fraction(0)
        for (a, other), (w, b) in zip(pairs, units, strict=True):
            printed += a * relu(w * x + b) + other * relu(-w * x - b)
            merged += (a + other) * relu(w * x + b)
            slope, offset = slope - other * w, offset - other * b
        assert printed == merged + relu(slope * x + offset) - relu(-slope * x - offset)
