"""What a trial did not measure: named with its reason, apart from what is not defined on its instance."""

import json

import numpy as np
import pytest

from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import Gaussian
from recovery.instances.patterns import Patterns
from recovery.instances.planted import NormalizedRelu, Relu
from recovery.methods.columns import LEFT_OUT, SOLUTION, checked, select, unmeasured
from recovery.methods.isometry import Isometry
from recovery.methods.method import UNDECIDED, Measurement
from recovery.methods.min_norm import LeastSquares, MinNorm, Regularized
from recovery.methods.train import Train
from recovery.programs.architecture import ARCHITECTURES

SKIP, NORM = ARCHITECTURES["relu_skip"], ARCHITECTURES["relu_norm"]


def states(method, setting: Setting, architecture=SKIP, seed: int = 0) -> tuple[Measurement, set[str], dict[str, str]]:
    """The row of a draw, the columns that have no value there, and why it lacks the others."""
    row = method(draw(setting, np.random.default_rng(seed)), architecture)
    reasons = unmeasured(row, method.columns)
    null = {name for name, value in checked(row, method.columns).items() if value is None}
    assert reasons.keys() <= null
    return row, null - reasons.keys(), reasons


def test_a_recovery_has_every_value_of_its_solution_and_a_decision_without_a_solve_has_none():
    recovered, undefined, reasons = states(MinNorm(), Setting(60, 8))
    assert recovered["verdict"] == "recovered"
    assert not reasons
    assert undefined == {"cone_violation", "failure_bound", "reason", "solver"}
    failed, undefined, reasons = states(MinNorm(), Setting(60, 40))
    assert failed["verdict"] in ("not_optimal", "not_unique")
    assert reasons.keys() >= set(SOLUTION) - {"cone_violation"}
    assert "distances is off" in reasons["test_distance"]
    assert "cone_violation" in undefined
    _, _, reasons = states(MinNorm(distances=True), Setting(60, 40))
    assert not reasons.keys() & set(SOLUTION)


def test_weights_of_normalised_neurons_have_a_distance_on_other_data_only_where_they_are_the_planted_ones():
    """So the distance of the others is unknown, and does not count as undefined."""
    for n, verdicts in ((8, ("not_optimal", "not_unique")), (60, ("recovered",))):
        for method in (MinNorm(), MinNorm(distances=True)):
            row, undefined, reasons = states(method, Setting(n, 8, planted=NormalizedRelu()), NORM)
            assert row["verdict"] in verdicts
            assert row.get("test_distance") == (0.0 if n == 60 else None)
            assert "test_distance" not in undefined
            assert ("test_distance" in reasons) == (n == 8)


def test_recovery_is_not_defined_with_noise_and_unmeasured_where_nothing_is_proved():
    _, undefined, reasons = states(MinNorm(), Setting(40, 5, noise=0.1))
    assert {"recovered", "isometry_value"} <= undefined
    assert not reasons
    _, _, reasons = states(LeastSquares(), Setting(40, 5, noise=0.1))
    assert not reasons
    flat = Setting(12, 4, Gaussian(), Relu(k=2), patterns=Patterns(kind="all", nodes=1))
    rows = [states(MinNorm(program="exact"), flat, ARCHITECTURES["relu"], seed) for seed in range(4)]
    assert all((row["verdict"] == "undecided") == (reasons.get("recovered") == UNDECIDED) for row, _, reasons in rows)
    assert any(row["verdict"] == "undecided" for row, _, _ in rows)


@pytest.mark.parametrize(
    ("method", "setting", "named"),
    [
        (Train(epochs=1, neurons=4), Setting(20, 5), {"convex_recovered", "excess"}),
        (
            Train(epochs=40, neurons=70, optimizer="gd", learning_rate=1e6),
            Setting(20, 5),
            {"recovered", "test_distance"},
        ),
        (Isometry(), Setting(3, 8, planted=Relu(k=1)), {"isometry_value", "isometry_margin"}),
        (Regularized(beta=1e-9), Setting(30, 5), set()),
    ],
)
def test_other_methods_name_what_they_did_not_measure(method, setting: Setting, named: set[str]):
    architecture = ARCHITECTURES["relu"] if setting.planted.form == "relu" else SKIP
    _, undefined, reasons = states(method, setting, architecture)
    assert named <= reasons.keys()
    assert not named & undefined


def test_a_mapping_of_a_users_method_did_not_measure_what_it_leaves_out():
    columns = select("recovered", "test_distance", "gap")
    assert unmeasured({"recovered": True, "gap": None}, columns) == {"test_distance": LEFT_OUT}
    assert unmeasured(Measurement(recovered=True), columns) == {}
    measured = Measurement(recovered=True, gap=0.0)
    measured.unmeasured = {"gap": "not asked for", "test_distance": "not asked for", "other": "unknown"}
    assert unmeasured(measured.having(redraws=1), columns) == {"test_distance": "not asked for"}
    assert json.dumps(unmeasured(measured, columns))
