import numpy as np
import pytest
from hypothesis import given, strategies as st

from recovery.errors import ParameterError
from recovery.instances.patterns import unique_patterns
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.certificate import certify
from recovery.programs.orthonormal import orthonormal_base
from recovery.programs.program import GatedProgram
from recovery.programs.solution import Solution
from recovery.programs.transforms import ProjectionSums, add_block


def some_groups(architecture, seed, n=14, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, ARCHITECTURES[architecture].groups(X, unique_patterns(X, [X @ rng.standard_normal((d, 9)) >= 0]))


@given(st.sampled_from(list(ARCHITECTURES)), st.integers(0, 1000), st.integers(2, 12), st.integers(1, 6))
def test_products_equal_those_of_the_blocks(architecture, seed, n, d):
    _, groups = some_groups(architecture, seed, n, d)
    rng = np.random.default_rng(seed)
    W, lam = rng.standard_normal((groups.count, groups.rank)), rng.standard_normal(n)
    blocks = [groups.block(g) for g in range(groups.count)]
    assert np.allclose(groups.forward(W), sum((A @ w for A, w in zip(blocks, W, strict=True)), np.zeros(n)))
    assert np.allclose(groups.adjoint(lam), [A.T @ lam for A in blocks])
    c = rng.random(groups.count)
    gram = sum((weight * A @ A.T for weight, A in zip(c, blocks, strict=True)), np.zeros((n, n)))
    assert np.allclose(groups.weighted_gram(np.arange(groups.count), c), gram)


@pytest.mark.parametrize("room", [0, 60, 10**6])
def test_sums_of_projections_do_not_depend_on_what_is_stored(room):
    _, groups = some_groups("relu_norm", 3, n=12, d=7)  # patterns with more rows than columns, and with fewer
    sums = ProjectionSums(groups.base, groups.patterns, groups.transforms, room)
    for weights in np.random.default_rng(0).random((2, groups.count)):
        expected = np.einsum("g,gnm->nm", weights, [A @ A.T for A in map(groups.block, range(groups.count))])
        assert np.allclose(sums.weighted(np.arange(groups.count), weights), expected, atol=1e-13)


def test_only_weights_close_to_their_last_value_may_keep_it():
    _, groups = some_groups("relu_norm", 3, n=12, d=7)
    rng, c = np.random.default_rng(0), np.ones(groups.count)
    for spread in (0.0, 0.02, 0.02, 0.5, 0.02, 3.0, 0.02):
        c = c * np.exp(spread * rng.standard_normal(groups.count))
        chosen = np.flatnonzero(rng.random(groups.count) < 0.8)
        exact = np.einsum("g,gnm->nm", c[chosen], [A @ A.T for A in map(groups.block, chosen)])
        near = groups.weighted_gram(chosen, c[chosen], 0.1)
        for difference in (near - 0.9 * exact, exact / 0.9 - near):
            assert np.linalg.eigvalsh(difference).min() >= -1e-12
        assert np.allclose(groups.weighted_gram(chosen, c[chosen]), exact, atol=1e-12)


@pytest.mark.parametrize("computed", [False, True])
def test_chosen_groups_have_their_own_products(computed):
    _, groups = some_groups("relu_norm", 3, n=12, d=7)
    if computed:
        groups.weighted_gram(np.arange(groups.count), np.ones(groups.count))
    chosen = np.arange(1, groups.count, 3)
    c, lam = np.arange(1.0, len(chosen) + 1), np.arange(12.0)
    blocks = [groups.block(g) for g in chosen]
    expected = np.einsum("g,gnm->nm", c, [A @ A.T for A in blocks])
    assert np.allclose(groups.weighted_gram(chosen, c), expected, atol=1e-13)
    assert np.allclose(groups.adjoint(lam, chosen), [A.T @ lam for A in blocks], atol=1e-12)


def test_rough_sums_approximate_sums_of_projections():
    n, d, count = 200, 20, 40
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    groups = ARCHITECTURES["relu_norm"].groups(X, rng.random((n, count)) < np.linspace(0.05, 1.0, count))
    for g in range(count):
        chosen = np.array([g])
        exact, rough = groups.weighted_gram(chosen, np.ones(1)), groups.rough_gram(chosen, np.ones(1))
        if groups.patterns[:, g].sum() <= d:  # its range contains all of R^rows
            assert np.allclose(rough, exact, atol=1e-12)
            continue
        D = groups.D[:, g]
        terms = np.column_stack([(D[:, None] * groups.base_gram * D).ravel(), np.diag(D).ravel()])
        nearest = terms @ np.linalg.lstsq(terms, exact.ravel(), rcond=None)[0]
        assert np.linalg.norm(rough.ravel() - nearest) < 0.1 * np.linalg.norm(exact)


@pytest.mark.parametrize("architecture", ["relu", "relu_skip"])
def test_plain_blocks_are_masked_data(architecture):
    X, groups = some_groups(architecture, 1)
    for g in range(groups.count):
        assert np.array_equal(groups.block(g), np.where(groups.patterns[:, [g]], X, 0))
    assert groups.patterns[:, 0].all() == (architecture == "relu_skip")


def test_normalised_blocks_are_orthonormal_bases_of_the_masked_range():
    X, groups = some_groups("relu_norm", 2)
    for g in range(groups.count):
        Q, A = groups.block(g), np.where(groups.patterns[:, [g]], X, 0)
        assert groups.dimensions(np.array([g])).sum() == np.linalg.matrix_rank(A)
        assert np.allclose(Q @ Q.T, A @ np.linalg.pinv(A), atol=1e-10)


def test_relu_norm_skip_is_relu_skip_on_whitened_data():
    X, groups = some_groups("relu_norm_skip", 3)
    U, coordinates = orthonormal_base(X)
    assert np.allclose(groups.base, U)
    assert np.allclose(U @ coordinates, X)
    assert np.allclose(U.T @ U, np.eye(4))


def test_duplicates_are_groups_of_equal_operators():
    X = np.random.default_rng(5).standard_normal((6, 2))
    patterns = np.column_stack([X[:, 0] >= 0, np.ones(6, dtype=bool), X[:, 0] >= 0])
    groups = ARCHITECTURES["relu_skip"].groups(X, patterns)
    assert groups.duplicates_of(0).tolist() == [2]
    assert groups.duplicates_of(1).tolist() == [3]


def test_blocks_are_added_at_their_rows():
    rng = np.random.default_rng(0)
    K, block, rows = np.zeros((9, 9)), rng.standard_normal((4, 4)), np.array([1, 2, 5, 8])
    expected = np.zeros((9, 9))
    expected[np.ix_(rows, rows)] = np.triu(0.5 * block)
    add_block(K, rows, block, 0.5)
    assert (expected == K).all()


def a_program(seed, beta=None, architecture="relu_skip"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((10, 3))
    groups = ARCHITECTURES[architecture].groups(X, unique_patterns(X, [X @ rng.standard_normal((3, 8)) >= 0]))
    W = rng.standard_normal((groups.count, 3)) * (rng.random((groups.count, 1)) < 0.5)
    return rng, GatedProgram(groups, groups.forward(W), beta), W


@given(st.integers(0, 500), st.sampled_from([None, 0.1, 10.0]), st.sampled_from(["relu", "relu_skip"]))
def test_weak_duality_holds_for_every_dual(seed, beta, architecture):
    rng, program, W = a_program(seed, beta, architecture)
    lam = rng.standard_normal(10) * 10 ** rng.uniform(-3, 3)
    certificate = certify(program, Solution(W, lam))
    assert certificate.dual_objective <= certificate.objective * (1 + 1e-12)
    assert certificate.gap >= -1e-12
    assert not certificate.proves_optimal or certificate.gap <= 1e-8


@given(st.integers(0, 100))
def test_nothing_changes_when_labels_are_scaled(seed):
    rng, program, W = a_program(seed)
    lam = rng.standard_normal(10)
    first = certify(program, Solution(W, lam))
    second = certify(GatedProgram(program.groups, 1e5 * program.y), Solution(1e5 * W, lam))
    assert second.gap == pytest.approx(first.gap, rel=1e-9)
    assert second.active_groups == first.active_groups


def test_weights_that_do_not_fit_are_not_optimal():
    _, program, W = a_program(1)
    assert certify(program, Solution(1.1 * W, np.zeros(10))).primal_residual == pytest.approx(0.1)
    assert not certify(program, Solution(1.1 * W, np.zeros(10))).proves_optimal


def test_programs_refuse_labels_of_the_wrong_shape():
    _, program, _ = a_program(2)
    with pytest.raises(ParameterError, match="shape"):
        GatedProgram(program.groups, np.zeros(3))
