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


def test_which_solver_answered_may_differ():
    assert differences(STORED, STORED | {"solver": "interior"}, COLUMNS) == []
    assert differences(STORED, STORED | {"solver": None}, COLUMNS) == []
    assert differences(STORED | {"solver": None}, STORED, COLUMNS)


def test_residuals_may_differ_as_long_as_both_are_small():
    columns = select("gap", "cone_violation", "objective")
    stored = {"status": "ok", "error_type": None, "gap": 2e-16, "cone_violation": 0.0, "objective": 1e-9}
    (found,) = differences(stored, stored | {"gap": 5e-7}, columns)
    assert found.rounding
    assert not differences(stored, stored | {"gap": 2e-6}, columns)[0].rounding
    assert not differences(stored, stored | {"cone_violation": 5e-7}, columns)[0].rounding
    assert not differences(stored, stored | {"objective": 5e-7}, columns)[0].rounding
