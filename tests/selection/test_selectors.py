"""Choice by validation, cutoffs, baselines: what is found where the answer is known, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from recovery.errors import DataError, ParameterError
from recovery.selection.hyperparameters import Training, choose
from recovery.selection.selectors import Selector, cut

SMALL = (0.1, 0.01), (0.02,), (10,), (100, 300)
NAMES = ["network", "lasso", "omp", "forest", "boosting"]


def rng(seed=0):
    return np.random.default_rng(seed)


def table(n=120, p=12, sigma=0.1, seed=0):
    draws = rng(seed)
    X = draws.standard_normal((n, p))
    return X, 3 * X[:, 0] - 2 * X[:, 3] + 2 * np.maximum(X[:, 5], 0) + sigma * draws.standard_normal(n)


@pytest.mark.parametrize("name", NAMES)
def test_each_selector_ranks_the_variables_that_matter_first(name):
    X, y = table()
    fitted, _ = Selector(*SMALL, selector=name).fit(rng(), X, y)
    assert set(np.argsort(-fitted.importances)[:3]) == {0, 3, 5}
    assert np.mean((fitted.predict(X) - y) ** 2) < 0.25 * y.var()


@pytest.mark.parametrize("name", NAMES)
def test_selection_has_no_units(name):
    X, y = table(n=60, p=6)
    plain, before = Selector(*SMALL, selector=name, cutoff="count", count=3).fit(rng(), X, y, 3)
    scaled, after = Selector(*SMALL, selector=name, cutoff="count", count=3).fit(rng(), 1024.0 * X, 2.0**-20 * y, 3)
    np.testing.assert_array_equal(scaled.importances, plain.importances)
    np.testing.assert_array_equal(after, before)


def test_a_network_is_given_in_the_units_of_the_table():
    X, y = table()
    fitted, _ = Selector(*SMALL, selector="network").fit(rng(), 10 * X + 5, y)
    assert fitted.network is not None
    np.testing.assert_allclose(fitted.network(10 * X + 5) + y.mean(), fitted.predict(10 * X + 5))
    assert fitted.hyperparameters["validation_mse"] < y.var()


@pytest.mark.parametrize("name", NAMES)
def test_integers_constant_and_repeated_columns_and_rows(name):
    X = rng().integers(-3, 4, (80, 5))
    X[:, 1], X[:, 4] = 7, X[:, 0]
    X[40:] = X[:40]
    fitted, chosen = Selector(*SMALL, selector=name).fit(rng(), X, 2 * X[:, 2] + 1)
    assert chosen[2]
    assert not chosen[1]
    assert np.isfinite(fitted.importances).all()


@pytest.mark.parametrize("name", NAMES)
def test_labels_that_do_not_vary_are_refused(name):
    X, _ = table(n=30, p=6)
    with pytest.raises(DataError, match="every label is 5"):
        Selector(*SMALL, selector=name).fit(rng(), X, np.full(30, 5.0))


@pytest.mark.parametrize("name", NAMES)
def test_one_variable_is_enough(name):
    X, _ = table(p=6)
    fitted, chosen = Selector(*SMALL, selector=name).fit(rng(), X[:, :1], 3 * X[:, 0])
    assert chosen.tolist() == [True]
    assert np.mean((fitted.predict(X[:, :1]) - 3 * X[:, 0]) ** 2) < 0.1 * 9


def test_what_scikit_learn_refuses_is_said():
    X, y = table(p=6)
    with pytest.raises(DataError, match="lasso cannot be fitted"):
        Selector(selector="lasso").fit(rng(), X[:3], y[:3])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    X, y = table()
    X[3, 2] = bad
    for name in NAMES:
        with pytest.raises(DataError, match="NaN or infinity"):
            Selector(*SMALL, selector=name).fit(rng(), X, y)
    with pytest.raises(DataError, match="NaN or infinity"):
        choose(rng(), X, y, Training(*SMALL))


def test_too_few_rows_and_overflow_are_said():
    X, y = table()
    with pytest.raises(DataError, match="3 rows are too few"):
        choose(rng(), X[:3], y[:3], Training(*SMALL))
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(DataError, match="overflowed"):
        choose(rng(), X, 1e30 * y, Training((0.1,), (0.01,), (5,), (10,)))


def test_the_choice_is_the_smallest_validation_error():
    """Cross-validation of one point is its error over all parts, computed here by hand."""
    X, y = table(n=40, p=6)
    one, two = Training((0.1,), (0.02,), (5,), (50,)), Training((0.1, 10.0), (0.02,), (5,), (50,))
    assert choose(rng(), X, y, two).point.penalty == 0.1
    kept = choose(rng(), X, y, one)
    held = np.array_split(rng().permutation(40), 5)[0]
    assert kept.error == pytest.approx(np.mean((kept.network(X[held]) - y[held]) ** 2), rel=1e-4)
    again = choose(rng(), X, y, replace(one, refit=True))
    assert again.error == kept.error
    assert np.mean((again.network(X) - kept.network(X)) ** 2) > 0
    crossed = choose(rng(), X, y, replace(two, validation="cross"))
    assert crossed.point.penalty == 0.1


def test_clusterings_separate_two_groups():
    values = np.concatenate([np.linspace(0.9, 1.1, 5), np.linspace(0.0, 0.05, 20)])
    for cutoff in ("mixture", "kmeans", "gap"):
        np.testing.assert_array_equal(cut(values, cutoff, rng()), values > 0.5)
        np.testing.assert_array_equal(cut(1e-9 * values, cutoff, rng()), values > 0.5)


def test_variables_that_matter_unequally_are_divided_from_noise_by_their_gap():
    """Importances that a network gave to 5 planted variables of 294."""
    values = np.concatenate([[1.0, 0.886, 0.466, 0.379, 0.329, 0.044, 0.041], np.geomspace(0.023, 0.002, 287)])
    assert np.flatnonzero(cut(values, "gap", rng())).tolist() == [0, 1, 2, 3, 4]
    values[5:] = 0.0
    assert np.flatnonzero(cut(values, "gap", rng())).tolist() == [0, 1, 2, 3, 4]


def test_counts_and_zeros():
    values = np.array([0.0, 2.0, 1.0, 2.0, 0.0])
    assert np.flatnonzero(cut(values, "count", rng(), 2)).tolist() == [1, 3]
    assert np.flatnonzero(cut(values, "count", rng(), 5)).tolist() == [1, 2, 3]
    assert np.flatnonzero(cut(values, "none", rng())).tolist() == [1, 2, 3]
    with pytest.raises(ParameterError, match="needs `count`"):
        cut(values, "count", rng())
    with pytest.raises(ParameterError, match="which a Selector fits"):
        cut(values, "shadow", rng())


@pytest.mark.parametrize("cutoff", ["mixture", "kmeans", "gap"])
def test_equal_importances_cannot_be_separated(cutoff):
    assert not cut(np.zeros(4), cutoff, rng()).any()
    assert cut(np.ones(4), cutoff, rng()).all()


@pytest.mark.parametrize("name", NAMES)
def test_shadows_divide_what_matters_from_what_does_not(name):
    X, y = table()
    fitted, chosen = Selector(*SMALL, selector=name, cutoff="shadow").fit(rng(), X, y)
    assert fitted.importances.shape == chosen.shape == (12,)
    assert chosen[[0, 3, 5]].all()
    assert not chosen.all()
    assert np.mean((fitted.predict(X) - y) ** 2) < 0.3 * y.var()


def test_noise_is_above_every_shadow_in_half_of_all_draws():
    """Columns and shadows of rows that say nothing of y are exchangeable: P(the largest is a column) = 1/2 exactly."""
    tiny = Selector((0.01,), (0.02,), (4,), (20,), cutoff="shadow")
    count, draws = 0, 200
    for seed in range(draws):
        noise = rng(seed).standard_normal((30, 5))
        count += tiny.fit(rng(1000 + seed), noise[:, 1:], noise[:, 0])[1].any()
    assert binomtest(count, draws).pvalue > 1e-6
