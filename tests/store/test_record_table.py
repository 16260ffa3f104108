"""Records become Arrow columns without a Python object per number."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from recovery.store.records import TrialRecord, record_table
from recovery.types import Array

STRANGE = np.array([np.nan, np.inf, -0.0, 5e-324, 1e308, -np.inf])


@pytest.mark.parametrize(
    "values",
    [
        STRANGE,
        STRANGE.reshape(3, 2),
        STRANGE.reshape(1, 3, 2).transpose(2, 0, 1),  # not in C order
        np.arange(4),
        np.empty((2, 0)),
        np.empty((0, 3)),
        np.float32([[0.1], [0.2]]),
    ],
    ids=lambda values: str(values.shape),
)
def test_arrays_become_nested_lists(values: Array) -> None:
    kind = pa.float64()
    for _ in range(values.ndim - 1):
        kind = pa.list_(kind)
    column = record_table([TrialRecord("a", {"x": values})])["x"]
    assert column.type == kind
    assert repr(column.to_pylist()) == repr(np.asarray(values, np.float64).tolist())


def test_the_conversion_takes_less_than_three_times_the_memory_of_the_numbers() -> None:
    """Lists of Python floats would take four times."""
    values = np.random.default_rng(0).standard_normal((10_000, 30))
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        table = record_table([TrialRecord("a", {"x": values})])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(table) == len(values)
    assert peak + pa.total_allocated_bytes() - before < 3 * values.nbytes
