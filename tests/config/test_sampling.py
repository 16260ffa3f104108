"""`sampling` and `backend`: what they change of a sweep, and what is refused."""

from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from recovery.backends import BACKENDS
from recovery.config import Boundary, ConfigError, from_document, load
from recovery.config.header import Header
from recovery.config.precision import precision
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics.crossings import crossings
from recovery.report.statistics.pooled import of_slices, pooled

from .sweeps import ids, load_fields

GRID: dict[str, Any] = {"n": None, "axes": {"n": [4, 8, 12]}}
BOUNDARY: dict[str, Any] = {"kind": "boundary", "rounds": 3, "budget": 40}


def test_uniform_sampling_and_a_backend_change_no_document() -> None:
    plain = load_fields()
    spelled_out = load_fields(sampling={"kind": "uniform"}, backend="threading")
    assert (spelled_out.document, spelled_out.digest) == (plain.document, plain.digest)
    assert (plain.backend, spelled_out.backend) == ("processes", "threading")


def test_a_boundary_is_stored_and_its_first_round_is_a_uniform_sweep() -> None:
    sweep, plain = load_fields(**GRID, sampling=BOUNDARY), load_fields(**GRID)
    assert sweep.document == {**plain.document, "sampling": BOUNDARY}
    assert from_document(sweep.document).sampling == sweep.sampling == Boundary(3, 40)
    assert ids(sweep) == ids(plain)
    assert sweep.size == 40


def test_further_trials_are_those_of_more_replicates() -> None:
    sweep, larger = load_fields(**GRID, sampling=BOUNDARY), load_fields(**GRID, replicates=5)
    counts = {sweep.cells[1].id: 5, sweep.cells[2].id: 1}
    found = list(sweep.trials(counts))
    assert {trial.id for trial in found} < ids(larger)
    assert [trial.replicate for trial in found] == [0, 1, 0, 1, 2, 3, 4, 0, 1]
    assert list(larger.trials(counts)) == list(larger.trials())


CONFIG = """\
name: small
replicates: 2
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
method: {kind: min_norm}
sampling: {kind: boundary, rounds: 3, budget: 40}
axes:
  n: [4, 8]
  d: [2, 3]
"""


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("boundary", "bounday", [":7:18: sampling.kind: found 'bounday'", "boundary or until", "mean 'boundary'?"]),
        ("kind: boundary, ", "", [":7:11: sampling: found {rounds: 3", "allowed: kind uniform, boundary or until"]),
        ("rounds: 3", "rounds: 1", [":7:36: sampling.rounds: found 1; allowed: an integer >= 2"]),
        (", budget: 40", "", [":7:11: sampling: `budget` is missing"]),
        ("budget", "bugdet", [":7:39: sampling.bugdet: unknown key", "did you mean 'budget'?"]),
        ("budget: 40", "budget: 8", [":7:47: sampling.budget: found 8; allowed: more than the 8 trials", "2 of each"]),
        ("n: [4, 8]", "n: [4]", [": report.x: found a threshold along n, which has one value here; allowed with"]),
        ("axes:\n  n: [4, 8]", "n: 4\naxes:", [": report.x: found a threshold along n, which has one value"]),
        ("axes", "report: {x: noise}\naxes", [":8:13: report.x: found a threshold along noise, which has one value"]),
        ("axes:", "report: {x: lasso}\naxes:\n  data.ensemble: [gaussian, haar]", [":8:13: report.x: found 'lasso'"]),
        (
            "axes:",
            "report: {x: data.ensemble}\naxes:\n  data.ensemble: [gaussian, haar]",
            [":8:13: report.x: found 'data.ensemble', which has the value gaussian", "allowed with"],
        ),
        ("axes", "report: {value: gap}\naxes", [":8:17: report.value: found 'gap'", "recovered", "all_ones"]),
        ("axes", "report: {value: method<=3}\naxes", [":8:17: report.value: found 'method'"]),
        ("axes", "report: {value: verdict<=3}\naxes", [":8:17: report.value: found 'verdict<=3'", "COLUMN<=NUMBER"]),
        ("axes", "backend: proceses\naxes", [":8:10: backend: found 'proceses'", "did you mean 'processes'?"]),
    ],
)
def test_what_cannot_be_sampled_is_refused_with_its_place(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    path = tmp_path / "config.yaml"
    assert old in CONFIG
    path.write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(ConfigError) as refused:
        load(path)
    for part in parts:
        assert part in str(refused.value)


def test_a_boundary_can_be_set_on_the_command_line() -> None:
    overrides = ["sampling={kind: boundary, rounds: 3, budget: 40}", "sampling.budget=50"]
    assert load_fields(*overrides, **GRID).sampling == Boundary(3, 50)


def test_every_backend_has_one_name() -> None:
    from recovery.cli.sweep import BACKENDS as OFFERED

    assert BACKENDS == OFFERED == get_args(get_type_hints(Header)["backend"])


def test_a_boundary_of_methods_that_measure_nothing_true_or_false_is_refused() -> None:
    sampling = {"kind": "boundary", "rounds": 2, "budget": 60}
    with pytest.raises(ConfigError, match=r"allowed with sampling: \{kind: boundary\}: COLUMN<=NUMBER"):
        load_fields(
            method={"kind": "limit"},
            planted={"kind": "relu"},
            architecture="relu",
            sampling=sampling,
            n=None,
            axes={"n": [4, 8]},
        )


# The forecast of a threshold's interval agrees with the intervals of drawn grids.

BASE = {
    "name": "x",
    "method": {"kind": "min_norm"},
    "architecture": "relu_skip",
    "planted": {"kind": "linear"},
    "data": {"ensemble": "gaussian"},
}


def sweep(axes: dict[str, Any], replicates: int, **report: Any) -> Any:
    document = {**BASE, "axes": axes, "replicates": replicates, "report": {"value": "recovered", **report}}
    return from_document(document)


def drawn(rng: Any, n: Any, sizes: Any, replicates: int) -> Panel:
    """Counts of a probit curve of scale sqrt n whose threshold lies in the middle of each slice."""
    x, d = (values.ravel().astype(float) for values in np.meshgrid(n, sizes))
    at = np.median(n) + rng.uniform(-0.5, 0.5) * (n[1] - n[0])
    yes = rng.binomial(replicates, ndtr((x - at) / np.sqrt(np.median(n))))
    return panel(x, d, yes, replicates)


def ratio_panel(rng: Any, n: Any, sizes: list[int], replicates: int) -> Panel:
    """Counts of a probit curve of scale sqrt n whose threshold lies at n = 3.1 d."""
    x, d = (values.ravel().astype(float) for values in np.meshgrid(n, sizes))
    yes = rng.binomial(replicates, ndtr((x - 3.1 * d) / np.sqrt(x)))
    return panel(x, d, yes, replicates)


def panel(x: Any, d: Any, yes: Any, replicates: int) -> Panel:
    empty = dict.fromkeys(("missing", "failed", "undecided", "undefined"), 0)
    cells = pd.DataFrame({"n": x, "d": d, "yes": yes, "no": replicates - yes, **empty})
    return Panel("", {}, cells, sorted(set(x)), sorted(set(d)))


@pytest.mark.parametrize(("step", "replicates"), [(4, 10), (4, 80), (12, 20), (30, 40)])
def test_a_slice_gets_about_the_forecast_half_width(step: int, replicates: int) -> None:
    n = np.arange(10, 251, step)
    expected = precision(sweep({"n": n.tolist(), "d": 40}, replicates, x="n"))
    along = ThresholdAxis(x="n", by=None, pool=None)
    rng = np.random.default_rng(step)
    found = [of_slices(crossings(drawn(rng, n, [40], replicates), along, lambda _: 0.95))[0] for _ in range(40)]
    half = np.mean([(one.interval.high - one.interval.low) / 2 for one in found])
    assert expected is not None
    assert expected.least == step / 2
    assert 0.7 < half / expected.half < 1.4


@pytest.mark.parametrize(("sizes", "step", "replicates"), [([36, 40, 44], 8, 20), (list(range(20, 61, 4)), 10, 20)])
def test_a_pooled_ratio_gets_about_the_forecast_half_width(sizes: list[int], step: int, replicates: int) -> None:
    n, rng = np.arange(10, 251, step), np.random.default_rng(step)
    expected = precision(sweep({"n": n.tolist(), "d": sizes}, replicates, x="n", y="d"))
    found = [pooled(ratio_panel(rng, n, sizes, replicates)) for _ in range(30)]
    half = np.mean([(one.interval.high - one.interval.low) / 2 for one in found])
    assert expected is not None
    assert 0.6 < half / expected.half < 1.6


def test_an_own_axis_and_a_computed_one_have_a_forecast() -> None:
    axes = {"delta": [0.5, 1.0, 1.5, 2.0], "d": [20, 40], "n": "delta * d"}
    along = precision(sweep(axes, 10, x="delta", y="d"))
    whole = precision(sweep(axes, 10, x="delta", y="d", pool="delta"))
    assert along is not None
    assert whole is not None
    assert along.least == 0.25
    assert along.rise == "a fifth of the range of delta"
    assert whole.half == pytest.approx(along.half / 2**0.5)


def test_steps_of_very_different_lengths_have_no_forecast() -> None:
    assert precision(sweep({"delta": [0.5, 5.0, 50.0], "d": [20], "n": "delta * d"}, 5, x="delta", y="d")) is None


@pytest.mark.parametrize("report", [{"x": "n", "value": "gap"}, {"x": "architecture"}])
def test_what_has_no_threshold_has_no_forecast(report: dict[str, Any]) -> None:
    assert (
        precision(sweep({"n": [4, 8], "d": [2, 3], "architecture": ["relu_skip", "relu_norm_skip"]}, 5, **report))
        is None
    )
