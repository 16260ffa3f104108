"""The axes language: values, combinations, labels."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from recovery.config import ConfigError
from recovery.config.values import Ends, Range
from recovery.runner.trial import streams

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


RELU = {"kind": "relu", "k": 2}


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        # multiples of an axis and of a constant; those that round to one size make one cell
        ({"n": {"times": "d", "values": [1.5, 2]}, "d": [3, 10]}, {"n": [5, 15, 6, 20], "d": [3, 10, 3, 10]}),
        ({"n": {"times": "d", "values": {"start": 1, "stop": 2, "step": 0.5}}}, {"n": [3, 5, 6]}),
        ({"n": {"times": "d", "values": [1.5, 1.6, 1.8]}}, {"n": [5]}),
        # zipped axes advance together
        (
            {"noise": [0, 1], "zip": [{"n": [4, 5], "planted.kind": ["linear", "relu"]}]},
            {"noise": [0.0, 0.0, 1.0, 1.0], "n": [4, 5, 4, 5], "planted.kind": ["linear", "relu"] * 2},
        ),
        # blocks are a union that counts a point once, and an axis of one block is a column of all
        ([{"n": [4, 8], "d": [1, 2]}, {"n": [8, 12], "d": [2]}], {"n": [4, 4, 8, 8, 12], "d": [1, 2, 1, 2, 2]}),
        (
            [{"n": [4]}, {"planted": [{"kind": "relu"}], "planted.k": [2]}],
            {"n": [4, 8], "planted": ["linear", "relu"], "planted.k": [None, 2]},
        ),
        # mappings are labelled by kind, and those of one kind by their other keys
        ({"planted": [{"kind": "linear", "direction": "basis"}, RELU]}, {"planted": ["linear", "relu"]}),
        (
            {"planted": [{"kind": "linear"}, RELU, {**RELU, "geometry": "opposite"}]},
            {"planted": ["linear", "relu k=2", "relu k=2 geometry=opposite"]},
        ),
        # values of several types are named by text
        ({"patterns.count": ["auto", 30]}, {"patterns.count": ["auto", "30"]}),
        ({"noise": [0, 0.5]}, {"noise": [0, 0.5]}),
    ],
)
def test_axes_give_these_points(axes: Any, expected: dict[str, list[Any]]) -> None:
    assert points(load_fields(axes=axes), *expected) == list(zip(*expected.values(), strict=True))


def test_flags_and_words_together_are_text() -> None:
    flags = {"method.standardize": [True, "inputs"]}
    sweep = load_fields(planted={"kind": "friedman"}, method={"kind": "select"}, axes=flags, d=5)
    assert points(sweep, "method.standardize") == [("true",), ("inputs",)]


@pytest.mark.parametrize("factor", [0, -1, "2", True])
def test_multiples_are_positive_numbers(factor: object) -> None:
    with pytest.raises(ConfigError, match=r"axes.n.values\[0\]: .*a number > 0"):
        load_fields(n=None, axes={"n": {"times": "d", "values": [factor]}})


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"n": {"times": "d", "values": [2]}, "d": {"times": "n", "values": [2]}}, "'d' is a multiple too"),
        ({"zip": [{"n": [4, 5], "d": [1, 2, 3]}]}, r"axes.zip\[0\]: .*n has 2, d has 3"),
        ({"n": {"start": 1, "stop": 2000}, "d": {"start": 1, "stop": 2000}}, "more than 200000 points"),
    ],
)
def test_axes_that_make_no_sweep_are_refused(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_fields(**EMPTY, axes=axes)


def test_coordinates_have_the_fixed_columns_and_the_axes() -> None:
    sweep = load_fields(axes={"data.ensemble": ["gaussian", "haar"], "method.solver": ["auto"]})
    fixed = {"n": 8, "d": 3, "noise": 0.0, "ensemble": "haar", "planted": "linear"}
    fixed |= {"architecture": "relu_skip", "method": "min_norm"}
    assert dict(sweep.cells[1].coordinates) == fixed | {"data.ensemble": "haar", "method.solver": "auto"}


@given(order=st.permutations(["n", "d", "data.ensemble", "noise"]))
def test_the_order_of_axes_changes_no_trial(order: list[str]) -> None:
    axes = {"n": [4, 8], "d": [1, 2], "data.ensemble": ["haar", "gaussian"], "noise": [0, 0.5]}
    expected = ids(load_fields(**EMPTY, axes=axes))
    assert ids(load_fields(**EMPTY, axes={name: axes[name] for name in order})) == expected


# User axes, which are words that are no fields, and axes that expressions compute.


def test_expressions_are_exact_and_sizes_are_rounded() -> None:
    sweep = load_fields(n=None, d=30, axes={"delta": [0.1, 0.05, 0.01], "n": "delta * d"})
    assert points(sweep, "delta", "n") == [(0.1, 3), (0.05, 2), (0.01, 1)]
    other = load_fields(n=None, d=30, axes={"delta": [0.1, 0.05], "n": "floor(delta * d)"})
    assert points(other, "n") == [(3,), (1,)]


def test_expressions_use_each_other_in_any_order() -> None:
    axes = {"noise": "n / 100", "n": "2 * d", "d": [5, 10]}
    assert points(load_fields(n=None, d=None, axes=axes), "d", "n", "noise") == [(5, 10, 0.1), (10, 20, 0.2)]


def test_the_trials_are_those_of_the_sizes_that_come_out() -> None:
    """A computed axis is a way to write sizes; ids do not depend on it."""
    plain = load_fields(n=None, d=None, axes={"zip": [{"n": [10, 20], "d": [5, 10]}]})
    assert ids(load_fields(n=None, d=None, axes={"d": [5, 10], "n": "2 * d"})) == ids(plain)
    assert ids(load_fields(n=None, d=None, axes={"d": [5, 10], "n": {"times": "d", "values": [2]}})) == ids(plain)


def test_values_that_round_alike_are_cells_of_their_own() -> None:
    sweep = load_fields(n=None, d=10, axes={"delta": [0.5, 0.51], "n": "delta * d"})
    assert points(sweep, "delta", "n") == [(0.5, 5), (0.51, 5)]
    assert len(ids(sweep)) == 2 * sweep.replicates
    first, second = (streams(cell, 0) for cell in sweep.cells)
    assert first.data.integers(2**63) != second.data.integers(2**63)


def test_an_axis_of_one_block_that_cannot_be_computed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"axes\[1\].tempi: .* uses 'slow', which is neither an axis nor a number"):
        load_fields(axes=[{"noise": [0.1]}, {"tempi": "slow"}])


@pytest.mark.parametrize("name", ["seed", "status", "recovered"])
def test_words_that_mean_something_else_are_no_axes(name: str) -> None:
    with pytest.raises(ConfigError, match="choose another"):
        load_fields(n=None, axes={name: [1, 2], "n": f"4 * {name}"})


@pytest.mark.parametrize("x", ["n/d", "n / d", "sqrt(n)"])
def test_a_report_is_over_arithmetic_of_coordinates(x: str) -> None:
    load_fields(n=None, axes={"n": [4, 8]}, report={"x": x})


@pytest.mark.parametrize(("x", "words"), [("n/dd", "did you mean 'd'"), ("n/", "cannot read"), ("m", "a coordinate")])
def test_a_report_over_nothing_is_refused(x: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_fields(n=None, axes={"n": [4, 8]}, report={"x": x})
