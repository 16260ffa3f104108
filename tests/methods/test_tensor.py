"""The method `tensor`: what it measures, and what it refuses before anything runs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Gaussian, Standard
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear
from recovery.instances.planted_functions import BiasedNetwork
from recovery.methods.columns import checked
from recovery.methods.tensor import Tensor
from recovery.programs.architecture import ARCHITECTURES

BIASED = ARCHITECTURES["relu_bias"]
FEW = Patterns(count=1, all_ones="ignore")


def measured(method: Tensor, law: BiasedNetwork, n: int = 2, d: int = 6, noise: float = 0.0, seed: int = 0):
    setting = Setting(n, d, Standard(), law, noise, FEW)
    instance = draw(setting, np.random.default_rng(seed), BIASED)
    row = checked(method(instance, BIASED), method.columns)
    assert row == checked(method(instance, BIASED), method.columns)  # a pure function of the instance
    return row


@pytest.mark.parametrize("decomposition", ["joint", "paired"])
@pytest.mark.parametrize(("order", "neurons"), [(1, 6), (2, 5)])
def test_infinite_samples_give_everything(order, neurons, decomposition):
    method = Tensor(samples="infinite", order=order, decomposition=decomposition)
    row = measured(method, BiasedNetwork(neurons, outer="spread"))
    assert row["recovered"]
    assert row["units_found"] == neurons
    assert row["parameter_error"] < 1e-8
    assert row["function_error"] < 1e-7
    assert row["fit_residual"] is None


def test_weights_off_the_sphere_are_the_same_to_it():
    row = measured(Tensor(samples="infinite"), BiasedNetwork(4, weights="random", tau=0.5))
    assert row["parameter_error"] < 1e-8


@pytest.mark.parametrize(
    ("law", "recovered"),
    [
        (BiasedNetwork(4, weights="dependent"), False),
        (BiasedNetwork(9), False),
        (BiasedNetwork(4, biases="equal", bias=0.3), True),
        (BiasedNetwork(4, biases="zero"), True),
        (BiasedNetwork(4, weights="condition", condition=30.0), True),
    ],
    ids=str,
)
def test_which_exact_moments_give_the_parameters(law, recovered):
    assert measured(Tensor(samples="infinite"), law)["recovered"] == recovered


def test_units_found_in_samples():
    law = BiasedNetwork(2, outer="spread")
    enough = measured(Tensor(rank="noise", success=0.2), law, n=200_000, d=4)
    assert enough["units_found"] == 2
    assert enough["recovered"]
    assert measured(Tensor(), law, n=30, d=4)["units_found"] < 2
    noisy = measured(Tensor(), law, n=20_000, d=4, noise=30.0 * math.sqrt(20_000))
    assert noisy["units_found"] < 2
    assert not noisy["recovered"]


@pytest.mark.parametrize("seed", range(4))
def test_dependent_weights_show_fewer_units(seed):
    row = measured(Tensor(), BiasedNetwork(4, weights="dependent", biases="zero"), n=100_000, d=4, seed=seed)
    assert row["units_found"] <= 2


@pytest.mark.parametrize(
    "options",
    [
        {"signs": "first_moment"},
        {"regression": "none"},
        {"regression": "split"},
        {"averages": "plain"},
        {"decomposition": "paired", "signs": "first_moment", "regression": "none", "averages": "plain"},
    ],
    ids=["Algorithm 3", "no regression", "Algorithm 5", "plain averages", "Algorithm 6"],
)
def test_the_printed_steps_recover_from_many_rows(options):
    row = measured(Tensor(success=0.2, **options), BiasedNetwork(2, outer="spread"), n=100_000, d=4)
    assert row["unsigned_error"] < 0.2
    assert row["function_error"] < 0.2


def test_the_split_regression_sees_only_the_second_half_and_the_moments_only_the_first():
    law, setting = BiasedNetwork(2, outer="spread"), Setting(20_000, 4, Standard(), BiasedNetwork(2), 0.0, FEW)
    instance = draw(replace(setting, planted=law), np.random.default_rng(1), BIASED)
    whole = Tensor(regression="split")(instance, BIASED)
    y = instance.y.copy()
    y[10_000:] = 0.0
    halved = Tensor(regression="split")(replace(instance, y=y), BIASED)
    assert halved["parameter_error"] == whole["parameter_error"]
    assert halved["function_error"] == pytest.approx(1.0)


@pytest.mark.parametrize("start", ["tensor", "random", "both"])
def test_a_polish_fits_noiseless_labels_exactly(start):
    row = measured(Tensor(polish="lm", start=start, evaluations=600), BiasedNetwork(2, outer="spread"), n=2000, d=4)
    assert row["recovered"]
    assert row["fit_residual"] < 1e-8
    assert row["parameter_error"] < 1e-6


def test_a_unit_that_the_moments_miss_starts_at_random():
    method = Tensor(polish="lm", rank="noise", evaluations=100)
    row = measured(method, BiasedNetwork(2, outer="spread"), n=40, d=4)
    assert row["units_found"] < 2
    assert row["starts"] == 1
    assert row["parameter_error"] is not None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"samples": "infinite", "polish": "lm"}, "polish: none"),
        ({"start": "random"}, "start: random is for polish: lm"),
        ({"signs": "first_moment", "order": 2}, "use order: 1"),
        ({"samples": "infinite", "regression": "split"}, "no rows for regression: split"),
    ],
)
def test_contradictions_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        Tensor(**wrong)


@pytest.mark.parametrize(
    ("method", "setting", "architecture", "message"),
    [
        (Tensor(), {}, "relu", "relu_bias"),
        (Tensor(), {"ensemble": Gaussian()}, "relu_bias", "ensemble: standard"),
        (Tensor(), {"planted": Linear()}, "relu_bias", "kind: network"),
        (Tensor(), {"n": 1}, "relu_bias", "at least n = 2 rows"),
        (Tensor(decomposition="paired", directions=1), {}, "relu_bias", "at least 2 directions"),
        (Tensor(order=2), {"d": 13}, "relu_bias", "d <= 12"),
        (Tensor(polish="lm"), {}, "relu_bias", "n = 10 rows, found 9"),
    ],
)
def test_settings_are_refused_before_anything_runs(method, setting, architecture, message):
    known = {"n": 9, "d": 3, "ensemble": Standard(), "planted": BiasedNetwork(2), "patterns": FEW}
    with pytest.raises(ParameterError, match=message):
        method.check(Setting(**{**known, **setting}), ARCHITECTURES[architecture])


def test_patterns_are_never_drawn():
    """A million rows would have 10^12 entries of them."""
    setting = Setting(10**6, 3, Standard(), BiasedNetwork(2))
    Tensor().check(setting, BIASED)
    small = draw(Setting(40, 3, Standard(), BiasedNetwork(2)), np.random.default_rng(0), BIASED)

    def refuse():
        raise AssertionError

    watched = replace(small, draw_patterns=refuse, decide=refuse)
    assert Tensor()(watched, BIASED) == Tensor()(small, BIASED)
