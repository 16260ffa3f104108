"""`method: train` on instances: what it measures, what it refuses, and how it ends when training goes wrong."""

import numpy as np
import pytest

from recovery.errors import DataError, ParameterError
from recovery.instances.draw import Instance, Setting, Streams, draw
from recovery.instances.ensembles import Gaussian, Standard
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.method import Measurement
from recovery.methods.min_norm import MinNorm
from recovery.methods.train import Train
from recovery.methods.trained import measure, targets
from recovery.programs.architecture import ARCHITECTURES
from recovery.training.descent import Descent
from recovery.training.models import Parameters

from .architectures import TRAINED

BASIS, STANDARD = Linear("basis"), Standard()
P2 = {
    **{"loss": "population", "neurons": 2, "outer": "signs", "initialization": "xavier", "optimizer": "gd"},
    **{"learning_rate": 0.1, "epochs": 2000, "target_loss": 1e-12},
}


def instance(
    n: int, d: int, planted: Planted = BASIS, ensemble=STANDARD, noise: float = 0.0, seed: int = 0
) -> Instance:
    setting = Setting(n, d, ensemble, planted, noise, Patterns(all_ones="ignore"))
    return draw(setting, Streams.spawn(np.random.default_rng(seed)))


def train(inst: Instance, architecture: str = "relu", **fields) -> Measurement:
    return Train(**fields)(inst, ARCHITECTURES[architecture])


def test_population_descent_recovers_the_planted_direction():
    row = train(instance(10, 20), **P2)
    assert row.recovered is True
    assert row.stopped == "target"
    assert row.weight_error < 1e-5
    assert row.group_error == pytest.approx(row.weight_error)
    assert row.population_loss <= 1e-12
    assert row.pairing_error < 1e-4
    assert row.merged_neurons == 2


def test_empirical_descent_recovers_with_enough_samples_and_not_with_too_few():
    fields = P2 | {"loss": "half_mean", "target_loss": 1e-14, "epochs": 3000}
    assert train(instance(200, 10), **fields).recovered is True
    few = train(instance(10, 10), **fields)
    assert few.recovered is False
    assert few.weight_error > 0.1


def test_a_paired_outer_layer_recovers_every_output():
    fields = P2 | {"neurons": 6, "outputs": 3, "outer": "paired", "scale": 1e-2}
    row = train(instance(10, 12), **fields)
    assert row.recovered is True
    assert row.weight_error < 1e-4
    assert row.group_error is None


def test_a_start_next_to_the_saddle_stays_there():
    """P2, Figure 1(b): f = (a.x)_+ there, and the loss is 1/2 E min(a.x, 0)^2 = 1/4."""
    row = train(instance(10, 20), **P2 | {"scale": 1e-3, "center": 1.5})
    assert row.recovered is False
    assert row.gradient_norm < 1e-6
    assert row.population_loss == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("architecture", TRAINED)
def test_every_architecture_trains_on_p1s_terms(architecture):
    planted = NormalizedRelu(k=2, geometry="opposite") if architecture == "relu_norm" else Linear()
    inst = instance(30, 5, planted, Gaussian())
    row = train(inst, architecture, epochs=300, weight_decay=1e-6)
    assert row.stopped == "epochs"
    assert row.iterations == 300
    assert row.training_loss < 0.05 * np.sum(inst.y**2)
    assert 0 < row.test_distance < 10
    assert row.merged_neurons >= 1
    assert (row.absolute_distance is None) == (architecture in ("relu", "relu_bias"))


def test_the_same_streams_give_the_same_row_and_another_rule_starts_at_the_same_point():
    fields = {"epochs": 0, "neurons": 4}
    adamw, sgd = (train(instance(20, 5), **fields, optimizer=rule) for rule in ("adamw", "sgd"))
    assert adamw == sgd


def test_divergence_is_a_row_that_is_neither_recovered_nor_not():
    row = train(instance(20, 5), optimizer="gd", learning_rate=10.0, epochs=1000)
    assert row.stopped == "diverged"
    assert row.iterations < 100
    assert row.recovered is None
    assert row.test_distance is None
    assert all(value is None or isinstance(value, str) or np.isfinite(value) for value in row.values())


def test_data_with_nan_are_refused():
    broken = instance(20, 5)
    broken.X[3, 2] = np.nan
    with pytest.raises(DataError, match="NaN"):
        train(broken)


def test_noise_is_never_scored_as_recovered():
    row = train(instance(40, 5, noise=0.1), neurons=4, epochs=10)
    assert row.recovered is None
    assert row.test_distance > 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"neurons": 3, "outer": "signs"}, "even number"),
        ({"outer": "signs"}, "`neurons` as a number"),
        ({"neurons": 5, "outer": "paired", "outputs": 2}, "neurons = 2 \\* outputs = 4"),
        ({"neurons": 2, "outer": (1.0, 2.0, 3.0)}, "3 weights for 2 neurons"),
        ({"neurons": 2, "outer": (1.0, 0.0)}, "no zero"),
        ({"optimizer": "scaled_gd"}, "fixed outer layer"),
        ({"optimizer": "gd", "batch": 5}, "full batch"),
        ({"optimizer": "gd", "weight_decay": 0.1}, "use sgd"),
        ({"momentum": 0.5}, "optimizer: sgd"),
        ({"loss": "population"}, "has no n"),
        ({"loss": "population", "neurons": 2, "precision": "float32"}, "float64"),
    ],
)
def test_fields_that_contradict_each_other_are_refused_when_the_value_is_made(fields, message):
    with pytest.raises(ParameterError, match=message):
        Train(**fields)


def test_instances_without_the_needed_form_are_refused():
    with pytest.raises(ParameterError, match="ensemble: standard"):
        train(instance(20, 5, ensemble=Gaussian()), **P2)
    with pytest.raises(ParameterError, match="architecture: relu"):
        train(instance(20, 5), "relu_skip", **P2)
    with pytest.raises(ParameterError, match="direction: basis"):
        train(instance(20, 5, Linear("random")), neurons=4, outputs=2)


def test_a_trajectory_holds_neurons_outer_layer_and_losses():
    row = train(instance(10, 20), **P2 | {"record": 10})
    path = row.trajectory
    assert path["inner"].shape == (len(path["epoch"]), 2, 2)
    assert path["outer"].shape == (len(path["epoch"]), 2, 1)
    np.testing.assert_array_equal(path["outer"][-1].ravel(), [1.0, -1.0])
    np.testing.assert_allclose(path["inner"][-1], [[1.0, 0.0], [-1.0, 0.0]], atol=1e-5)
    assert path["epoch"][-1] == row.iterations
    assert path["loss"][-1] == row.training_loss
    assert row.keys() <= Train.columns.keys()


def test_the_convex_comparison_is_the_verdict_of_the_same_instance():
    setting = Setting(40, 8, Gaussian(), Linear("smallest_singular"))
    inst = draw(setting, Streams.spawn(np.random.default_rng(1)))
    row = train(inst, "relu_skip", epochs=20, compare="verdict")
    assert row.convex_recovered is MinNorm()(inst, ARCHITECTURES["relu_skip"]).recovered is True
    few = draw(Setting(12, 8, Gaussian(), Linear("smallest_singular")), Streams.spawn(np.random.default_rng(1)))
    assert train(few, "relu_skip", epochs=20, compare="verdict").convex_recovered is False


def test_a_comparison_without_a_convex_program_is_refused():
    with pytest.raises(ParameterError, match="no linear group"):
        Train(compare="verdict").check(Setting(20, 5), TRAINED["relu"])


def finished(parameters: Parameters) -> Descent:
    return Descent(parameters, 0.0, 0.0, 0, "epochs", {})


def test_the_planted_network_itself_measures_as_recovered():
    """A linear neuron in the skip connection, and normalised neurons in the normalised network: every distance is 0."""
    inst = instance(30, 5, Linear(), Gaussian())
    skip = Parameters.empty(TRAINED["relu_skip"], 3, 5, 1, np.float64)
    skip["w0"][...], skip["a0"][...] = 2.0 * inst.planted.directions.T, 0.5
    inst_norm = instance(30, 5, NormalizedRelu(k=2, signs="alternating"), Gaussian())
    norm = Parameters.empty(TRAINED["relu_norm"], 2, 5, 1, np.float64)
    norm["W"][...] = 3.0 * inst_norm.planted.directions.T
    norm["gamma"][...], norm["V"][...] = 0.5, 2.0 * inst_norm.planted.signs[:, None]
    for planted, parameters in ((inst, skip), (inst_norm, norm)):
        A = targets(planted, 1)
        row = measure(planted, finished(parameters), parameters, A, None, 1e-9)
        assert row.recovered is True
        assert row.test_distance == pytest.approx(0.0, abs=1e-12)
        assert row.absolute_distance == pytest.approx(0.0, abs=1e-12)
    assert measure(inst_norm, finished(norm), norm, None, None, 1e-9).merged_neurons == 2


def test_absolute_distance_of_a_normalised_network_counts_only_neurons_of_the_planted_pattern():
    """Without a neuron in a planted pattern the distance of that group is the planted weight's own norm, 1."""
    inst = instance(30, 5, NormalizedRelu(k=2), Gaussian())
    network = Parameters.empty(TRAINED["relu_norm"], 1, 5, 1, np.float64)
    network["W"][...], network["gamma"][...], network["V"][...] = inst.planted.directions[:, :1].T, 1.0, 1.0
    assert measure(inst, finished(network), network, None, None, 1e-9).absolute_distance == pytest.approx(1.0)


def test_a_test_draw_that_no_planted_neuron_sees_decides_nothing():
    """With n = 1 the one test row lies beyond the neuron's hyperplane in half of all draws."""
    found = set()
    for seed in range(8):
        drawn = instance(1, 2, Relu(), seed=seed)
        row = Train(epochs=1, neurons=2)(drawn, ARCHITECTURES["relu"])
        found.add((bool(drawn.planted.labels(drawn.test).any()), row.recovered is None))
    assert found == {(True, False), (False, True)}


def test_batches_and_momentum_train_too():
    rule = {"optimizer": "sgd", "momentum": 0.9, "batch": 16, "learning_rate": 0.01, "epochs": 400}
    row = train(instance(50, 5), neurons=4, loss="half_mean", initialization="xavier", **rule)
    assert row.training_loss < 0.01


def test_single_precision_follows_double_precision():
    single, double = (train(instance(30, 5), "relu_skip", precision=p, epochs=50) for p in ("float32", "float64"))
    assert single.training_loss == pytest.approx(double.training_loss, rel=1e-3)
    assert single.training_loss != double.training_loss
