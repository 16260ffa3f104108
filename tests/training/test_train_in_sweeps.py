"""`method: train` from a config to a row: errors before the first trial, statuses after it, and the shipped configs."""

import pytest

from recovery.config import ConfigError, load
from recovery.runner.trial import measure
from tests.config.sweeps import ids, load_fields

SHIPPED = [
    *(f"p1-fig{i:02d}" for i in (8, 25, 30, 31, 32, 33)),
    *(f"p2-fig{i:02d}" for i in (1, 2, 3, 4, 5, 7, 8, 9)),
    "p2-samples",
    "p2-epochs",
    "p2-wide",
    "p2-signs",
    "train-paired",
]
TRAINING = {
    **{"n": 30, "d": 4, "data": {"ensemble": "standard"}, "planted": {"kind": "linear", "direction": "basis"}},
    **{"architecture": "relu", "method": {"kind": "train", "neurons": 4, "outer": "signs", "optimizer": "gd"}},
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["method.neurons=3"], "even number of neurons, found 3"),
        (["method.epochs=-1"], "an integer >= 0"),
        (["method.learning_rate=0"], "a number > 0"),
        (["method.optimizer=adamax"], "gd, scaled_gd, sgd, adam, adamw or lbfgs"),
        (["method.loss=population", "data.ensemble=gaussian"], "ensemble: standard"),
        (["method.outer=trained", "method.outputs=2", "planted.direction=random"], "direction: basis"),
        (["method.compare=verdict"], "no linear group"),
        (["method.resetstate=true"], "reset_state"),
    ],
)
def test_what_cannot_be_trained_is_a_config_error(changes, message):
    with pytest.raises(ConfigError, match=message):
        load_fields(*changes, **TRAINING)


def test_reset_state_is_part_of_a_trials_identity():
    fields = ("method.optimizer=adamw", "method.outer=trained")
    one, other = (load_fields(*fields, f"method.reset_state={flag}", **TRAINING) for flag in ("true", "false"))
    assert not ids(one) & ids(other)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_configs_load_and_their_cheapest_trial_runs(name):
    sweep = load(name)
    assert all(cell.method.epochs > 0 for cell in sweep.cells)
    trials = sweep.trials()
    if trials.costs.min() < 0.5:
        row = measure(trials[int(trials.costs.argmin())])
        assert row["status"] == "ok", row["error_message"]
        assert row["training_loss"] is not None
    else:
        assert name in ("p2-fig04", "p2-fig09")
