"""The axes language: values, combinations, labels."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from recovery.config import ConfigError
from recovery.config.values import Ends, Range

from .sweeps import ids, load_fields, points

EMPTY: dict[str, Any] = {"n": None, "d": None}


@given(
    start=st.integers(-2000, 2000),
    count=st.integers(1, 60),
    step=st.integers(1, 999),
    places=st.sampled_from([1, 2, 3]),
)
def test_a_range_of_floats_is_exact(start: int, count: int, step: int, places: int) -> None:
    unit = Fraction(1, 10**places)
    stop = start + step * (count - 1)
    values = list(Range(float(start * unit), float(stop * unit), float(step * unit)).values())
    assert values == [float((start + i * step) * unit) for i in range(count)]


@given(start=st.integers(-50, 50), stop=st.integers(-50, 200), step=st.integers(1, 30))
def test_a_range_of_integers_is_that_of_python_with_its_stop(start: int, stop: int, step: int) -> None:
    if stop >= start:
        values = list(Range(start, stop, step).values())
        assert values == list(range(start, stop + 1, step))
        assert all(isinstance(value, int) for value in values)


@given(low=st.integers(-8, 2), decades=st.integers(1, 6), each=st.integers(1, 5))
def test_logspace_meets_its_ends_and_decades_and_has_one_ratio(low: int, decades: int, each: int) -> None:
    values = list(Ends(10.0**low, 10.0 ** (low + decades), each * decades + 1).values())
    assert values[::each] == [float(f"1e{low + i}") for i in range(decades + 1)]
    for a, b in pairwise(values):
        assert b / a == pytest.approx(10 ** (1 / each), rel=1e-11)


@given(numerator=st.integers(1, 5000), base=st.integers(1, 500))
def test_multiples_round_halves_up_and_are_at_least_one(numerator: int, base: int) -> None:
    exact = Fraction(numerator, 1000) * base
    axes = {"n": {"times": "d", "values": [float(Fraction(numerator, 1000))]}}
    assert points(load_fields(n=None, d=base, axes=axes), "n") == [(max(1, int(exact + Fraction(1, 2))),)]


def test_multiples_follow_the_other_axis() -> None:
    sweep = load_fields(**EMPTY, axes={"n": {"times": "d", "values": [1.5, 2]}, "d": [3, 10]})
    assert points(sweep, "n", "d") == [(5, 3), (15, 10), (6, 3), (20, 10)]


def test_multiples_follow_a_constant() -> None:
    sweep = load_fields(n=None, d=7, axes={"n": {"times": "d", "values": {"start": 1, "stop": 2, "step": 0.5}}})
    assert points(sweep, "n") == [(7,), (11,), (14,)]


def test_multiples_that_round_to_one_size_make_one_cell() -> None:
    sweep = load_fields(n=None, d=1, axes={"n": {"times": "d", "values": [1.5, 2, 2.4]}})
    assert points(sweep, "n") == [(2,)]


@pytest.mark.parametrize("factor", [0, -1, "2", True])
def test_multiples_are_positive_numbers(factor: object) -> None:
    with pytest.raises(ConfigError, match=r"axes.n.values\[0\]: .*a number > 0"):
        load_fields(n=None, axes={"n": {"times": "d", "values": [factor]}})


def test_two_multiples_of_each_other_are_refused() -> None:
    axes = {"n": {"times": "d", "values": [2]}, "d": {"times": "n", "values": [2]}}
    with pytest.raises(ConfigError, match="'d' is a multiple too"):
        load_fields(**EMPTY, axes=axes)


def test_zipped_axes_advance_together() -> None:
    group = {"architecture": ["relu", "relu_norm"], "planted.kind": ["relu", "normalized_relu"]}
    sweep = load_fields(axes={"noise": [0, 1], "zip": [group]})
    assert points(sweep, "noise", "architecture", "planted.kind") == [
        (0.0, "relu", "relu"),
        (0.0, "relu_norm", "normalized_relu"),
        (1.0, "relu", "relu"),
        (1.0, "relu_norm", "normalized_relu"),
    ]


def test_zipped_axes_of_unequal_length_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"axes.zip\[0\]: .*n has 2, d has 3"):
        load_fields(**EMPTY, axes={"zip": [{"n": [4, 5], "d": [1, 2, 3]}]})


def test_include_keeps_and_exclude_drops() -> None:
    axes = {
        "n": [4, 8, 12],
        "d": [1, 2, 3],
        "include": [{"n": 4}, {"d": [2, 3]}],
        "exclude": [{"n": 12, "d": 3}],
    }
    sweep = load_fields(**EMPTY, axes=axes)
    assert points(sweep, "n", "d") == [(4, 1), (4, 2), (4, 3), (8, 2), (8, 3), (12, 2)]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"n": 5}, "found 5, which is no value of the axis n"),
        ({"m": 4}, "is no axis of this block; its axes are n"),
        ({"n": [4, 8]}, "leaves no point"),
        (4, "a partial point"),
    ],
)
def test_an_exclusion_that_cannot_be_meant_is_refused(condition: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_fields(n=None, axes={"n": [4, 8], "exclude": [condition]})


def test_blocks_are_a_union_that_counts_a_point_once() -> None:
    sweep = load_fields(**EMPTY, axes=[{"n": [4, 8], "d": [1, 2]}, {"n": [8, 12], "d": [2]}])
    assert points(sweep, "n", "d") == [(4, 1), (4, 2), (8, 1), (8, 2), (12, 2)]


def test_an_axis_of_one_block_is_a_column_of_all() -> None:
    sweep = load_fields(axes=[{"n": [4]}, {"planted": [{"kind": "relu"}], "planted.k": [2]}])
    assert points(sweep, "n", "planted", "planted.k") == [(4, "linear", None), (8, "relu", 2)]


def test_mappings_are_labelled_by_kind_where_that_tells_them_apart() -> None:
    sweep = load_fields(axes={"planted": [{"kind": "linear", "direction": "basis"}, {"kind": "relu", "k": 2}]})
    assert points(sweep, "planted") == [("linear",), ("relu",)]


def test_mappings_of_one_kind_are_labelled_by_their_other_keys() -> None:
    values = [{"kind": "linear"}, {"kind": "relu", "k": 2}, {"kind": "relu", "k": 2, "geometry": "opposite"}]
    sweep = load_fields(axes={"planted": values})
    assert points(sweep, "planted") == [("linear",), ("relu k=2",), ("relu k=2 geometry=opposite",)]


def test_values_of_several_types_are_named_by_text() -> None:
    sweep = load_fields(axes={"patterns.count": ["auto", 30]})
    assert points(sweep, "patterns.count") == [("auto",), ("30",)]
    assert points(load_fields(axes={"noise": [0, 0.5]}), "noise") == [(0,), (0.5,)]
    flags = load_fields(
        planted={"kind": "friedman"}, method={"kind": "select"}, axes={"method.standardize": [True, "inputs"]}, d=5
    )
    assert points(flags, "method.standardize") == [("true",), ("inputs",)]


def test_coordinates_have_the_fixed_columns_and_the_axes() -> None:
    sweep = load_fields(axes={"data.ensemble": ["gaussian", "haar"], "method.solver": ["auto"]})
    assert dict(sweep.cells[1].coordinates) == {
        "n": 8,
        "d": 3,
        "noise": 0.0,
        "ensemble": "haar",
        "planted": "linear",
        "architecture": "relu_skip",
        "method": "min_norm",
        "data.ensemble": "haar",
        "method.solver": "auto",
    }


@given(order=st.permutations(["n", "d", "data.ensemble", "noise"]))
def test_the_order_of_axes_changes_no_trial(order: list[str]) -> None:
    axes = {"n": [4, 8], "d": [1, 2], "data.ensemble": ["haar", "gaussian"], "noise": [0, 0.5]}
    expected = ids(load_fields(**EMPTY, axes=axes))
    assert ids(load_fields(**EMPTY, axes={name: axes[name] for name in order})) == expected


def test_a_sweep_of_too_many_points_is_refused() -> None:
    with pytest.raises(ConfigError, match="more than 1000000 points"):
        load_fields(**EMPTY, axes={"n": {"start": 1, "stop": 2000}, "d": {"start": 1, "stop": 2000}})
