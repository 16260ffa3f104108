"""`--set PATH=VALUE`."""

from typing import Any

import pytest

from recovery.config import ConfigError

from .sweeps import ids, load_fields, points

AXES = {"n": [4, 8], "d": [1, 2]}
BASIS = {**AXES, "data.ensemble": ["gaussian", "haar"]}
TRAIN = {"kind": "train", "neurons": 2}
BLOCKS = [{"n": [4], "d": [1]}, {"n": [8], "d": [2]}]


@pytest.mark.parametrize(
    ("options", "axes", "expected"),
    [
        (["noise=1e-3"], {}, {"noise": [1e-3]}),
        (["data.ensemble=haar"], {}, {"ensemble": ["haar"]}),
        (["data={ensemble: haar}"], {}, {"ensemble": ["haar"]}),
        (["d=5"], {}, {"d": [5]}),
        (["method.solver=ECOS"], {}, {"method": ["min_norm"]}),
        # several values make the field an axis, and replace those of one
        (["noise=[1, 2]", "n=[4, 6]"], {"n": [8]}, {"n": [4, 4, 6, 6], "noise": [1, 2, 1, 2]}),
        (
            ["method.program=[gated, exact]"],
            BLOCKS,
            {"n": [4, 4, 8, 8], "d": [1, 1, 2, 2], "method.program": ["gated", "exact"] * 2},
        ),
        (
            ["noise=[0, 1, 2]"],
            {"zip": [{"n": [4, 8], "noise": [0, 1]}]},
            {"n": [4, 8] * 3, "noise": [0, 0, 1, 1, 2, 2]},
        ),
        (["n={start: 4, stop: 5}", "d={times: n, values: [2]}"], AXES, {"n": [4, 5], "d": [8, 10]}),
        # the last override of a field counts
        (["noise=1", "noise=2"], {}, {"noise": [2.0]}),
        # an axis is fixed, also at a value that it does not have, and its column stays
        (["data.ensemble=haar"], BASIS, {"n": [4, 4, 8, 8], "d": [1, 2, 1, 2], "data.ensemble": ["haar"] * 4}),
        (["n=6"], AXES, {"n": [6, 6], "d": [1, 2]}),
        # in every block, and in a zipped group, whose other axes stay
        (["n=6"], BLOCKS, {"n": [6, 6], "d": [1, 2]}),
        (["noise=0.5"], {"zip": [{"n": [4, 8], "noise": [0, 1]}]}, {"n": [4, 8], "noise": [0.5, 0.5]}),
        # axes are replaced and added
        (
            ["axes.n=[5]", "axes.method.solver=[auto, ECOS]"],
            AXES,
            {"n": [5] * 4, "d": [1, 1, 2, 2], "method.solver": ["auto", "ECOS"] * 2},
        ),
    ],
)
def test_fields_and_axes_are_overridden(options: list[str], axes: Any, expected: dict[str, list[Any]]) -> None:
    sweep = load_fields(*options, axes=axes)
    assert points(sweep, *expected) == list(zip(*expected.values(), strict=True))
    assert {*sweep.axes} == ({*expected} if axes else set())


def test_a_mapping_may_have_keys_that_ranges_have() -> None:
    """`start` is a key of ranges and of trained networks."""
    fields = {"architecture": "relu", "planted": {"kind": "relu"}}
    (cell,) = load_fields("method={kind: train, start: 3}", **fields).cells
    assert cell.method == load_fields("method.start=3", method={"kind": "train"}, **fields).cells[0].method


def test_a_list_is_one_value_of_a_field_that_holds_lists() -> None:
    (cell,) = load_fields("method.outer=[1, -1]", planted={"kind": "relu"}, architecture="relu", method=TRAIN).cells
    assert cell.parts["method"].resolved["outer"] == [1, -1]
    several = load_fields("method.outer=[[1, -1], signs]", planted={"kind": "relu"}, architecture="relu", method=TRAIN)
    assert len(several.cells) == 2


def test_header_fields_are_overridden() -> None:
    sweep = load_fields("name=other", "replicates=9", "seed=1", "report.value=gap")
    assert (sweep.name, sweep.replicates, sweep.seed, sweep.report.value) == ("other", 9, 1, "gap")


def test_a_fixed_axis_keeps_the_trials_of_its_value() -> None:
    assert ids(load_fields("data.ensemble=haar", axes=BASIS)) < ids(load_fields(axes=BASIS))


@pytest.mark.parametrize(
    ("option", "axes", "message"),
    [
        ("planted.k=3", {"planted": [{"kind": "relu"}]}, "lies in the axis planted"),
        ("axes.noise=[1]", [AXES], "axes is a list here"),
    ],
)
def test_what_lies_in_an_axis_of_mappings_or_a_list_is_not_overridden(option: str, axes: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_fields(option, axes=axes)
