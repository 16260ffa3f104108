"""The values that coordinates take together are known without composing a cell, and are those of the cells."""

import pytest

from recovery.config import from_document, load
from recovery.methods.columns import FIXED

from .sweeps import COMPLETE


@pytest.mark.parametrize("name", COMPLETE)
def test_combinations_are_those_of_the_composed_cells(name):
    sweep = load(name)
    sizes = {"n", "d"}
    others = tuple(path for path in dict.fromkeys([*FIXED, *sweep.axes]) if path not in sizes)
    for names in (("n",), ("d",), others, *((path,) for path in others)):
        composed = {tuple(cell.coordinates[path] for path in names) for cell in sweep.cells}
        assert set(sweep.combinations(names)) == composed


def test_combinations_follow_the_config_and_its_filters():
    document = {
        "name": "small",
        "planted": {"kind": "linear"},
        "architecture": "relu_skip",
        "method": {"kind": "min_norm"},
        "axes": {
            "data": [{"ensemble": "haar"}, {"ensemble": "student_t", "df": 5}],
            "noise": [0.2, 0.1],
            "d": [5, 10],
            "n": {"times": "d", "values": [2, 1]},
            "exclude": [{"noise": 0.1, "d": 10}],
        },
    }
    sweep = from_document(document)
    assert sweep.combinations(("noise",)) == [(0.2,), (0.1,)]
    assert sweep.combinations(("ensemble",)) == [("haar",), ("student_t",)]
    assert sweep.combinations(("noise", "n")) == [(0.2, 10), (0.2, 5), (0.2, 20), (0.1, 10), (0.1, 5)]
    assert sweep.combinations(("data", "architecture")) == [("haar", "relu_skip"), ("student_t", "relu_skip")]


def test_a_field_that_stands_in_no_axis_and_not_in_the_document_is_left_to_the_rows():
    assert from_document({"name": "bare"}).combinations(("planted",)) == []
