"""`method: train` from a config to a row: errors before the first trial, statuses after it, and the shipped configs."""

import pytest

from recovery.config import ConfigError, load
from recovery.runner.trial import measure

SHIPPED = [
    *(f"p1-fig{i:02d}" for i in (8, 25, 30, 31, 32, 33)),
    *(f"p2-fig{i:02d}" for i in (1, 2, 3, 4, 5, 7, 8, 9)),
    "p2-samples",
    "p2-epochs",
    "p2-wide",
    "p2-signs",
    "train-paired",
]
TEXT = """
name: training
n: 30
d: 4
data: {ensemble: standard}
planted: {kind: linear, direction: basis}
architecture: relu
method: {kind: train, neurons: 4, outer: signs, optimizer: gd, learning_rate: 0.01, epochs: 50}
"""


def config(tmp_path, *changes: str):
    path = tmp_path / "training.yaml"
    path.write_text(TEXT)
    return load(path, changes)


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
def test_what_cannot_be_trained_is_a_config_error(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        config(tmp_path, *changes)


def test_reset_state_is_part_of_a_trials_identity(tmp_path):
    fields = ("method.optimizer=adamw", "method.outer=trained")
    ids = {
        next(iter(config(tmp_path, *fields, f"method.reset_state={flag}").trials())).id for flag in ("true", "false")
    }
    assert len(ids) == 2


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_configs_load_and_their_cheapest_trial_runs(name):
    sweep = load(name)
    methods = {cell.method.epochs for cell in sweep.cells}
    assert min(methods) > 0
    cheapest = min(sweep.trials(), key=lambda t: t.cell.method.cost(t.cell.setting.n, t.cell.setting.d))
    if cheapest.cell.method.cost(cheapest.cell.setting.n, cheapest.cell.setting.d) < 0.5:
        row = measure(cheapest)
        assert row["status"] == "ok", row["error_message"]
        assert row["training_loss"] is not None
    else:
        assert name in ("p2-fig04", "p2-fig09")
