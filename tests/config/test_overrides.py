"""`--set PATH=VALUE`."""

import pytest

from recovery.config import ConfigError

from .sweeps import ids, load_fields, points

AXES = {"n": [4, 8], "d": [1, 2]}


@pytest.mark.parametrize(
    ("option", "column", "value"),
    [
        ("noise=1e-3", "noise", 1e-3),
        ("data.ensemble=haar", "ensemble", "haar"),
        ("data={ensemble: haar}", "ensemble", "haar"),
        ("d=5", "d", 5),
        ("method.solver=ECOS", "method", "min_norm"),
    ],
)
def test_a_field_is_overridden(option: str, column: str, value: object) -> None:
    assert points(load_fields(option), column) == [(value,)]


def test_the_last_override_of_a_field_counts() -> None:
    assert points(load_fields("noise=1", "noise=2"), "noise") == [(2.0,)]


def test_header_fields_are_overridden() -> None:
    sweep = load_fields("name=other", "replicates=9", "seed=1", "report.value=gap")
    assert (sweep.name, sweep.replicates, sweep.seed, sweep.report.value) == ("other", 9, 1, "gap")


def test_an_axis_is_fixed_and_its_column_stays() -> None:
    sweep = load_fields("data.ensemble=haar", axes={**AXES, "data.ensemble": ["gaussian", "haar"]})
    assert sweep.axes == ("n", "d", "data.ensemble")
    assert points(sweep, "n", "d", "data.ensemble") == [(n, d, "haar") for n in (4, 8) for d in (1, 2)]


def test_a_fixed_axis_keeps_the_trials_of_its_value() -> None:
    axes = {**AXES, "data.ensemble": ["gaussian", "haar"]}
    assert ids(load_fields("data.ensemble=haar", axes=axes)) < ids(load_fields(axes=axes))


def test_an_axis_may_be_fixed_at_a_value_it_does_not_have() -> None:
    assert points(load_fields("n=6", axes=AXES), "n", "d") == [(6, 1), (6, 2)]


def test_an_axis_is_fixed_in_every_block() -> None:
    sweep = load_fields("n=6", axes=[{"n": [4], "d": [1]}, {"n": [8], "d": [2]}])
    assert points(sweep, "n", "d") == [(6, 1), (6, 2)]


def test_a_zipped_axis_is_fixed_and_the_others_stay() -> None:
    sweep = load_fields("noise=0.5", axes={"zip": [{"n": [4, 8], "noise": [0, 1]}]})
    assert points(sweep, "n", "noise") == [(4, 0.5), (8, 0.5)]


def test_axes_are_replaced_and_added() -> None:
    sweep = load_fields("axes.n=[5]", "axes.method.solver=[auto, ECOS]", axes=AXES)
    assert points(sweep, "n", "d", "method.solver") == [(5, d, p) for d in (1, 2) for p in ("auto", "ECOS")]


def test_what_lies_in_an_axis_of_mappings_is_not_overridden_silently() -> None:
    with pytest.raises(ConfigError, match="lies in the axis planted"):
        load_fields("planted.k=3", axes={"planted": [{"kind": "relu"}]})


def test_a_list_is_not_overridden_in_part() -> None:
    with pytest.raises(ConfigError, match="axes is a list here"):
        load_fields("axes.noise=[1]", axes=[AXES])
