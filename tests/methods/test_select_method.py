"""The method `select`: its columns on planted models, its refusals, and trials that are functions of their config."""

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Haar, Standard
from recovery.instances.planted import Linear
from recovery.instances.planted_functions import SparseLinear, SparseNetwork
from recovery.methods.columns import checked
from recovery.methods.variable_selection import Select
from recovery.programs.architecture import RELU

SMALL = {"penalties": (0.1, 0.02), "rates": (0.02,), "neurons": (10,), "epochs": (200, 400)}
LINEAR = Setting(120, 10, Standard(), SparseLinear(), noise=0.5, noise_scale="unit")


def run(setting, **options):
    method = Select(**{**SMALL, **options})
    return checked(method(draw(setting, np.random.default_rng(0)), RELU), method.columns)


@pytest.mark.parametrize("selector", ["network", "lasso", "omp", "forest", "boosting"])
def test_each_selector_finds_a_linear_support_that_is_counted(selector):
    row = run(LINEAR, selector=selector, cutoff="count", count="planted")
    assert row["true_positives"] == 3
    assert row["false_positives"] == 0
    assert row["support_recovered"] is True
    assert row["test_mse"] < 0.3 * (9 + 2.25 + 4)
    assert (row["penalty"] in SMALL["penalties"]) == (selector == "network")


def test_a_count_too_large_has_false_positives():
    row = run(LINEAR, selector="forest", cutoff="count", count=5)
    assert (row["true_positives"], row["support_recovered"]) == (3, False)
    assert row["false_positives"] == 2


def test_the_test_error_is_that_of_noiseless_labels():
    """At sigma = 50 the noise alone would be 2500."""
    setting = Setting(400, 10, Standard(), SparseLinear(), noise=50.0, noise_scale="unit")
    assert run(setting, selector="omp")["test_mse"] < 800


def test_test_rows_beyond_n_are_further_draws_of_the_law():
    """Haar data have orthonormal columns for every draw of n rows: stacked draws keep their scale."""
    setting = Setting(40, 8, Haar(), SparseLinear())
    method = Select(selector="omp", test_rows=100)
    instance = draw(setting, np.random.default_rng(0))
    test = method._test(instance)
    assert test.shape == (100, 8)
    np.testing.assert_allclose(test[:40].T @ test[:40], np.eye(8), atol=1e-12)


def test_weights_are_compared_only_where_a_network_was_planted():
    network = Setting(150, 5, Standard(), SparseNetwork(active=2, width=2))
    assert run(network)["weight_error"] > 0
    assert run(network, selector="omp")["weight_error"] is None
    assert run(LINEAR)["weight_error"] is None


def test_a_trial_is_a_function_of_its_instance():
    method, instance = Select(**SMALL), draw(LINEAR, np.random.default_rng(3))
    assert method(instance, RELU) == method(instance, RELU)


def test_what_cannot_be_measured_is_refused_before_anything_runs():
    with pytest.raises(ParameterError, match="known support"):
        Select().check(Setting(20, 5, planted=Linear()), RELU)
    with pytest.raises(ParameterError, match="d = 4 is too small"):
        Select().check(Setting(20, 4, planted=SparseLinear()), RELU)
    with pytest.raises(ParameterError, match="count = 11 is more than d = 10"):
        Select(cutoff="count", count=11).check(LINEAR, RELU)
    with pytest.raises(ParameterError, match="goes with cutoff: count"):
        Select(count=3)
    with pytest.raises(ParameterError, match="goes with cutoff: count"):
        Select(cutoff="count")
