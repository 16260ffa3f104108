"""The forecast of a threshold's interval agrees with the intervals of drawn grids."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from recovery.config import from_document
from recovery.config.precision import precision
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics.crossings import crossings
from recovery.report.statistics.pooled import of_slices, pooled

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
