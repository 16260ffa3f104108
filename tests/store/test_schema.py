import pyarrow as pa

from recovery.methods.measurement import Measurement
from recovery.store.schema import MEASURED, coordinate_types, row_schema


def test_every_measured_value_has_a_column_of_its_type() -> None:
    assert list(MEASURED) == list(Measurement().as_row())
    expected = {
        "recovered": pa.bool_(),
        "verdict": pa.string(),
        "gap": pa.float64(),
        "active_groups": pa.int64(),
        "solver": pa.string(),
    }
    assert {name: MEASURED[name] for name in expected} == expected


def test_columns_are_distinct() -> None:
    names = row_schema({"n": pa.int64()}).names
    assert len(set(names)) == len(names)


def test_axis_columns_take_the_type_of_their_values() -> None:
    cells = [
        {"n": 1, "noise": 0, "ensemble": "haar", "flag": True, "mixed": 1, "empty": None},
        {"n": 2, "noise": 0.5, "ensemble": "haar", "flag": None, "mixed": "auto", "empty": None},
    ]
    assert coordinate_types(cells) == {
        "n": pa.int64(),
        "noise": pa.float64(),
        "ensemble": pa.string(),
        "flag": pa.bool_(),
        "mixed": pa.string(),
        "empty": pa.string(),
    }
