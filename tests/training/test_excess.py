"""Training against the global optimum of its own problem, which the exact program over all patterns proves."""

from dataclasses import replace

import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Instance, Setting, Streams, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, Planted, Relu
from recovery.methods.convex import PlantedProgram
from recovery.methods.generation import optimum_over_all
from recovery.methods.method import Measurement
from recovery.methods.train import Train
from recovery.methods.trained import best_network
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.networks import network_of
from recovery.training.descent import Budget, lbfgs
from recovery.training.models import Empirical, Parameters, initialize
from recovery.training.trained_neurons import stationarity
from recovery.types import Array
from tests.programs.test_printed_programs import plain, printed_optimum, with_skip

BETA = 0.05
FIELDS = {"optimizer": "lbfgs", "loss": "half_sum", "beta": BETA, "epochs": 3000, "excess": True, "neurons": 8}
TWO = Relu(2, "random")


def instance(n: int, d: int, seed: int, planted: Planted = TWO, noise: float = 0.1) -> Instance:
    setting = Setting(n, d, planted=planted, noise=noise, patterns=Patterns(kind="all"))
    return draw(setting, Streams.spawn(np.random.default_rng(seed)))


def train(inst: Instance, architecture: str = "relu", **fields) -> Measurement:
    return Train(**FIELDS | fields)(inst, ARCHITECTURES[architecture])


def enumerated(X: Array, y: Array, skip: bool) -> float:
    """The optimum by a conic solver, with a pair of cones for every pattern of the arrangement."""
    return printed_optimum((with_skip if skip else plain)(X, enumerate_cells(X)[0], True), y, BETA)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("architecture", ["relu", "relu_skip", "relu_bias"])
def test_no_start_is_below_the_enumerated_optimum_and_some_reach_it(architecture: str) -> None:
    reached = 0
    for seed in range(6):
        inst = instance(3 + seed, 2, seed)
        inputs = ARCHITECTURES[architecture].features(inst.X)
        least = enumerated(inputs, inst.y, architecture == "relu_skip")
        rows = [train(inst, architecture, start=start) for start in range(8)]
        for row in rows:
            assert row["optimum"] == pytest.approx(least, rel=2e-6, abs=1e-9)
            assert row["optimum_gap"] <= 1e-6
            assert row["excess"] >= -row["optimum_gap"] - 1e-9
            assert 0 <= row["excess_low"] <= row["excess_high"]
            assert row.training_loss == pytest.approx(row["optimum"] * (1 + row["excess"]))
        reached += min(row["excess"] for row in rows) < 1e-5
    assert reached >= (4 if architecture == "relu_bias" else 5)


@pytest.mark.parametrize("architecture", ["relu", "relu_skip"])
def test_the_optimum_on_rows_of_one_line_and_on_zero_rows(architecture: str) -> None:
    # no neuron has the first pattern, all ones: for rows of both directions its cone is zero, and zero rows have none
    line = np.outer([-3.0, 1.0, 2.0, 4.0, -2.0], [1.0, 2.0])
    for X, y in ((line, np.maximum(-line[:, 0], 0.0)), (np.zeros((3, 2)), np.array([1.0, -2.0, 0.5]))):
        ones = np.ones((len(X), 1), dtype=np.bool_)
        inst = replace(instance(len(X), 2, 0), X=X, y=y, signal=y, draw_patterns=lambda ones=ones: ones)
        row = train(inst, architecture)
        least = enumerated(X, y, architecture == "relu_skip") if X.any() else 0.5 * float(y @ y)
        assert row["optimum"] == pytest.approx(least, rel=2e-6)
        assert row["optimum_gap"] <= 1e-6


def test_the_network_of_the_program_is_stationary_and_has_no_excess() -> None:
    """Its objective is the program's, so the two problems have one scaling. At its kinks the slopes are not 0 or 1."""
    for seed in range(4):
        inst = instance(12, 3, seed)
        problem = PlantedProgram.of(inst, ARCHITECTURES["relu"], "exact", BETA)
        problem, state = optimum_over_all(problem)
        assert state.found is not None
        certificate = state.found.certificate
        network = network_of(problem.program, state.found.solution.W, ARCHITECTURES["relu"])
        parameters = Parameters.empty(ARCHITECTURES["relu"], len(network.outer), 3, 1, np.float64)
        parameters["W"][...], parameters["V"][:, 0] = network.inner, network.outer
        loss = Empirical(inst.X, inst.y[:, None], len(network.outer), 0.5, penalty=BETA)
        gradient = parameters.like()
        assert loss(parameters, gradient) == pytest.approx(certificate.objective, rel=1e-8)
        assert stationarity(loss, parameters) < 1e-3 * (1 + np.linalg.norm(gradient.flat))
        assert best_network(inst, ARCHITECTURES["relu"], BETA).objective == pytest.approx(certificate.objective)


def test_stationarity_is_the_norm_of_the_gradient_away_from_kinks_and_less_at_them() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((9, 3)), rng.standard_normal((9, 1))
    loss, parameters = Empirical(X, y, 4, 0.5, penalty=0.1), initialize(rng, ARCHITECTURES["relu"], 4, 3)
    gradient = parameters.like()
    loss(parameters, gradient)
    norm = float(np.linalg.norm(gradient.flat))
    assert stationarity(loss, parameters) == pytest.approx(norm)
    at_kink = parameters.copy()
    at_kink["W"][0] -= (X[0] @ at_kink["W"][0]) / (X[0] @ X[0]) * X[0]
    loss(at_kink, gradient)
    z = X[0] @ at_kink["W"][0]
    assert abs(z) < 1e-12
    slopes = np.linspace(0, 1, 2001)  # by brute force
    residual = 2 * 0.5 * (np.maximum(X @ at_kink["W"].T, 0) @ at_kink["V"] - y)[0, 0]
    step = at_kink["V"][0, 0] * residual * X[0]
    first = gradient["W"][0] - (z > 0) * step
    rest = np.vdot(gradient.flat, gradient.flat) - np.vdot(gradient["W"][0], gradient["W"][0])
    least = min(np.sqrt(rest + np.sum((first + slope * step) ** 2)) for slope in slopes)
    assert stationarity(loss, at_kink) == pytest.approx(least, rel=1e-3)
    assert stationarity(loss, at_kink) <= least * (1 + 1e-9)


def test_zero_neurons_and_zero_rows_are_kinks() -> None:
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    parameters = Parameters.empty(ARCHITECTURES["relu"], 2, 2, 1, np.float64)
    loss = Empirical(X, np.ones((3, 1)), 2, 0.5, penalty=0.1)
    assert stationarity(loss, parameters) == 0.0  # all weights 0 are a stationary point


def test_lbfgs_ends_where_the_loss_is_flat_and_below_gradient_descent() -> None:
    inst = instance(30, 4, 1)
    rows = [train(inst, optimizer=name, learning_rate=0.02, epochs=4000) for name in ("lbfgs", "gd")]
    assert [row.stopped for row in rows] == ["flat", "epochs"]
    assert rows[0].iterations < 4000
    assert rows[0].training_loss <= rows[1].training_loss * (1 + 1e-3)
    limited = train(inst, epochs=5)
    assert (limited.stopped, limited.iterations) == ("epochs", 5)
    assert train(inst, target_loss=rows[0].training_loss * 1.5).stopped == "target"
    assert train(inst, tolerance=1e3).stopped == "stationary"


def test_lbfgs_ends_on_a_loss_that_is_no_number() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 2))
    parameters = initialize(rng, ARCHITECTURES["relu"], 3, 2)
    parameters.flat[0] = np.inf
    with np.errstate(invalid="ignore"):
        end = lbfgs(Empirical(X, X[:, :1], 3, 0.5), parameters, Budget(100))
    assert end.stop == "diverged"


def test_starts_have_weights_of_their_own_and_the_first_is_the_old_one() -> None:
    inst = instance(10, 2, 0)
    first, again, other = (train(inst, epochs=0, excess=False, start=start) for start in (0, 0, 1))
    assert first == again
    assert first.training_loss != other.training_loss
    assert Train(start=0) == Train()


def test_draws_that_differ_have_optima_of_their_own() -> None:
    one, two = (instance(10, 2, seed, Linear()) for seed in (0, 1))  # a linear neuron makes use of a skip connection
    relu, skip = ARCHITECTURES["relu"], ARCHITECTURES["relu_skip"]
    four = ((one, relu, 0.1), (two, relu, 0.1), (one, skip, 0.1), (one, relu, 0.2))
    values = {round(best_network(*each).objective, 6) for each in four}
    assert len(values) == 4
    assert best_network(one, relu, 0.1) is best_network(instance(10, 2, 0, Linear()), relu, 0.1)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"beta": None}, "excess needs beta"),
        ({"loss": "sum"}, "excess needs loss: half_sum"),
        ({"weight_decay": 0.1, "optimizer": "adamw"}, "excess needs weight_decay: 0"),
        ({"outer": "signs", "optimizer": "gd"}, "excess needs one output and a trained outer layer"),
        ({"outer": "signs"}, "lbfgs trains all layers"),
        ({"record": 10}, "lbfgs records no trajectory"),
        ({"precision": "float32"}, "lbfgs needs precision: float64"),
        ({"batch": 2}, "lbfgs takes the full batch"),
        ({"loss": "population", "excess": False}, "the population loss has no beta"),
    ],
)
def test_what_cannot_be_compared_is_refused(fields: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Train(**FIELDS | fields)


def test_settings_without_a_proved_optimum_are_refused() -> None:
    method, setting = Train(**FIELDS), Setting(10, 2, planted=Linear(), patterns=Patterns(kind="sampled"))
    with pytest.raises(ParameterError, match="needs patterns"):
        method.check(setting, ARCHITECTURES["relu"])
    with pytest.raises(ParameterError, match="not known for normalised neurons"):
        method.check(setting, ARCHITECTURES["relu_norm"])
    with pytest.raises(ParameterError, match="has no minimum"):
        Train(beta=0.1).check(setting, ARCHITECTURES["relu_norm"])
