"""What a replayed row is compared in."""

from recovery.methods.columns import select
from recovery.runner.replay import differences

COLUMNS = select("objective", "solver", "iterations")
STORED = {"status": "ok", "error_type": None, "objective": 1.0, "solver": "newton", "iterations": 30}


def test_steps_of_a_solver_may_differ_and_epochs_may_not():
    assert differences(STORED, STORED | {"iterations": 25}, COLUMNS) == []
    trained = STORED | {"solver": None}
    assert [found.column for found in differences(trained, trained | {"iterations": 25}, COLUMNS)] == ["iterations"]
    assert not differences(STORED, STORED | {"objective": 1.1}, COLUMNS)[0].rounding
