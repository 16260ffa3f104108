"""Comparison of stored and replayed rows."""

from recovery.runner.rerun import differences

STORED = {"status": "ok", "error_type": None, "objective": 1.0, "solver": "newton", "iterations": 30}


def test_steps_of_a_solver_may_differ_and_epochs_may_not():
    assert differences(STORED, STORED | {"iterations": 25}) == []
    trained = STORED | {"solver": None}
    assert [found.column for found in differences(trained, trained | {"iterations": 25})] == ["iterations"]
    assert not differences(STORED, STORED | {"objective": 1.1})[0].rounding


def test_which_solver_answered_may_differ():
    assert differences(STORED, STORED | {"solver": "interior"}) == []
    assert differences(STORED, STORED | {"solver": None}) == []
    assert differences(STORED | {"solver": None}, STORED)


def test_residuals_may_differ_as_long_as_both_are_small():
    stored = {"status": "ok", "error_type": None, "gap": 2e-16, "cone_violation": 0.0, "objective": 1e-9}
    (found,) = differences(stored, stored | {"gap": 5e-7})
    assert found.rounding
    assert not differences(stored, stored | {"gap": 2e-6})[0].rounding
    assert not differences(stored, stored | {"cone_violation": 5e-7})[0].rounding
    assert not differences(stored, stored | {"objective": 5e-7})[0].rounding


def test_counts_of_active_groups_may_differ_by_a_few() -> None:
    stored = {"status": "ok", "error_type": None, "gap": 8e-9, "objective": 1e-6, "active_groups": 34}

    def explained(again: int, first: int = 34, gap: float = 8e-9) -> bool:
        row = stored | {"active_groups": first, "gap": gap}
        (found,) = differences(row, row | {"active_groups": again})
        return found.rounding

    assert explained(33)
    assert explained(2, first=3)
    assert explained(97, first=100)
    assert not explained(31)
    assert not explained(1, first=2)
    assert not explained(0, first=2)
    assert not explained(33, gap=1e-3)


def test_distances_may_differ_as_far_as_the_gaps_let_the_fits_move() -> None:
    """Objective 1e-6 and gap 2e-9: the fit is within 6e-8 of the optimum's."""
    stored = STORED | {"objective": 1e-6, "gap": 2e-9, "absolute_distance": 6.1516e-6, "test_distance": 5.8336e-6}
    again = stored | {"gap": 2e-14, "absolute_distance": 6.1492e-6}
    assert all(found.rounding for found in differences(stored, again))
    further = stored | {"gap": 2e-14, "absolute_distance": 6.3e-6}
    assert not all(found.rounding for found in differences(stored, further))
    exact = stored | {"gap": 0.0}
    assert not differences(exact, exact | {"absolute_distance": 6.1492e-6})[0].rounding
    for unproved in (0.5, float("inf"), float("nan")):
        row = stored | {"gap": unproved}
        found = [one for one in differences(row, row | {"absolute_distance": 0.5}) if one.column != "gap"]
        assert [one.rounding for one in found] == [False]
