"""The power with which a threshold, or the width of a transition, grows, and claims about it."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

from recovery.errors import ReportError
from recovery.report.diagram import Diagram, ThresholdAxis
from recovery.report.figures import main_figure
from recovery.report.statistics.growth import Growth, growth
from recovery.theory import CURVES
from recovery.types import Array
from tests.suites import first

from .grids import analysed, grid, judge, wendel_rows

SEEDS = 8
LEAST = int(binom.ppf(1e-3, SEEDS, 0.95))
"""Fewest 95 % intervals that hold the truth, at level .001."""
SIZES = [10, 30, 100, 300, 1000]
CLAIM = {"kind": "power", "of": "recovered", "along": "d", "probabilities": [0.1, 0.9], "value": 0.5, "tolerance": 0.3}


def growth_of(cells: pd.DataFrame, yes: Array, trials: int, *probabilities: float) -> Growth:
    """Return the growth of a panel with these counts."""
    panel = Diagram.of(grid(wendel_rows(n=[4], d=[4, 8], replicates=1))).panels[0]
    counts = cells.assign(yes=yes, no=trials - yes, ok=trials, failed=0, missing=0, undecided=0, unmeasured=0)
    by_d = replace(panel, cells=counts, y=sorted(set(counts["d"])))
    found = growth([by_d], ThresholdAxis(pool=None), probabilities)
    assert found is not None
    return found


def around_wendel() -> pd.DataFrame:
    """Cells at n = 2 d + z (2 d)^(1/2)."""
    cells = pd.DataFrame(
        [(d, round(2 * d + z * np.sqrt(2 * d))) for d in SIZES for z in np.arange(-2.5, 2.6, 0.5)], columns=["d", "n"]
    )
    return cells.drop_duplicates()


def wendel(n: Array, d: Any) -> Array:
    return 1 - CURVES["wendel"].function(n, np.broadcast_to(np.asarray(d, dtype=float), n.shape))


@pytest.mark.parametrize("falling", first(1, [False, True]))
def test_the_width_of_wendels_transition_grows_as_his_law_says(falling: bool) -> None:
    """The exact widths have the power .503; a rarer outcome as n grows has the same widths."""
    widths = []
    for d in SIZES:
        n = np.arange(max(d, 2), 4 * d)
        widths.append(np.diff(np.interp([0.1, 0.9], wendel(n.astype(float), d), n))[0])
    truth = np.polyfit(np.log(SIZES), np.log(widths), 1)[0]
    cells = around_wendel()
    chance = wendel(cells["n"].to_numpy(dtype=float), cells["d"])
    found = []
    for seed in range(SEEDS):
        yes = np.random.default_rng([23, seed]).binomial(40, 1 - chance if falling else chance).astype(float)
        found.append(growth_of(cells, yes, 40, 0.1, 0.9).interval(0.95))
    assert sum(one.low <= truth <= one.high for one in found) >= LEAST
    assert np.mean([one.estimate for one in found]) == pytest.approx(truth, abs=0.03)


@pytest.mark.parametrize("power", first(1, [0.25, 0.0]))
def test_the_growth_of_a_threshold_is_the_power_in_the_data(power: float) -> None:
    """n50 = 2 d (d / 8)^p, probit in n."""
    sizes, ratios = np.array([4, 6, 8, 10, 12, 16]), np.arange(1, 16) / 4
    cells = pd.DataFrame([(d, n) for d in sizes for n in np.unique((ratios * d).round()) if n > 0], columns=["d", "n"])
    half = 2 * cells["d"] * (cells["d"] / 8) ** power
    chance = norm.cdf((cells["n"] - half) / (0.5 * np.sqrt(cells["n"])))
    yes = [np.random.default_rng([17, seed]).binomial(20, chance).astype(float) for seed in range(SEEDS)]
    found = [growth_of(cells, one, 20, 0.5).interval(0.95) for one in yes]
    assert sum(one.low <= 1 + power <= one.high for one in found) >= LEAST
    assert np.mean([one.estimate for one in found]) == pytest.approx(1 + power, abs=0.04)


def test_a_size_whose_cells_end_inside_the_transition_is_left_out() -> None:
    cells = around_wendel()
    yes = (40 * wendel(cells["n"].to_numpy(dtype=float), cells["d"])).round()
    assert growth_of(cells, yes, 40, 0.1, 0.9).lines[0][0].tolist() == SIZES
    below = (cells["d"] < 1000) | (cells["n"] < 2000)
    assert growth_of(cells[below], yes[below], 40, 0.1, 0.9).lines[0][0].tolist() == SIZES[:4]


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, "supported"),
        ({"value": 3.0}, "contradicted"),
        ({"tolerance": 0.001}, "inconclusive"),
        ({"probabilities": [0.5], "value": 1.0, "tolerance": 0.1}, "supported"),
        ({"value": None, "tolerance": None, "at_most": 1.0}, "supported"),
    ],
)
def test_a_claim_about_a_power_is_judged_by_its_interval(change: dict[str, Any], verdict: str) -> None:
    rows = wendel_rows(n=range(4, 161, 4), d=[8, 16, 32, 64], replicates=40, seed=3)
    found = judge(rows, CLAIM | change)
    assert found.verdict == verdict
    assert "exponent" in found.measured
    assert "at d = 8" in found.measured


def test_panels_with_factors_of_their_own_share_the_exponent() -> None:
    """n at 50 % is 2 d with one value of k and 6 d with the other; one size is in a panel of its own."""
    rows = wendel_rows(n=range(4, 161, 4), d=[8, 16, 32, 64], replicates=20, seed=5, k=[1, 2])
    rows.loc[rows["k"] == 2, "n"] *= 3
    both = judge(rows, {"kind": "power", "of": "recovered", "along": "d", "value": 1, "tolerance": 0.1})
    assert both.verdict == "supported"
    assert "8 points in 2 lines" in both.measured
    lone = judge(rows[(rows["k"] == 1) | (rows["d"] == 16)], CLAIM | {"probabilities": [0.5], "value": 1.0})
    assert "4 points in 1 line;" in lone.measured


def test_a_slice_without_a_logarithm_is_left_out() -> None:
    rows = wendel_rows(n=range(4, 161, 4), d=[8, 16, 32, 64], replicates=40, seed=3)
    found = judge(rows.assign(d=rows["d"].where(rows["d"] > 8, 0)), CLAIM)
    assert "3 points in 1 line" in found.measured
    assert "a power of d needs positive numbers" in judge(rows.assign(d=0), CLAIM).measured


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"along": "n"}, "the threshold is along n, so it is no power of n"),
        ({"along": "noise"}, "no two values of noise show where it is; needs grid cells on both sides"),
        ({"along": "noise", "of": "test_distance"}, "8 points in 4 lines"),
        ({"of": "absolute_distance"}, "0 points along d"),
        ({"of": "max_deviation"}, "0 points along d"),
    ],
)
def test_what_has_no_logarithm_is_said_or_left_out(change: dict[str, Any], words: str) -> None:
    rows = wendel_rows(n=[20, 40], d=[10, 20], noise=[0.0, 0.1, 0.2], replicates=5, seed=1)
    rows = rows.assign(test_distance=1.0 + rows["noise"], absolute_distance=0.0, max_deviation=np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert words in judge(rows, CLAIM | change).measured


def approaching_rows(change: float = 16.0, d: Sequence[int] = (12, 16, 24, 32, 64, 128)) -> pd.DataFrame:
    """Rows with n/d = 2 + change / d, with a width in n/d that falls as d^-1/2."""
    rows = wendel_rows(n=range(8, 401, 4), d=d, replicates=100)
    at = 2 + change / rows["d"]
    chance = norm.cdf((rows["n"] / rows["d"] - at) * np.sqrt(rows["d"]) / 1.2)
    rows["recovered"] = np.random.default_rng(3).random(len(rows)) < chance
    return rows


@pytest.mark.parametrize(
    ("stated", "verdict"), [({"value": 2.0, "tolerance": 0.3}, "supported"), ({"at_least": 2.6}, "contradicted")]
)
def test_the_scaling_of_a_threshold_is_judged(stated: dict[str, Any], verdict: str) -> None:
    found = judge(approaching_rows(), {"kind": "scaling", "of": "recovered", "ratio": "n/d"} | stated)
    assert found.verdict == verdict, found.measured


def test_two_sizes_have_no_limit() -> None:
    rows = wendel_rows(n=range(8, 121, 4), d=[16, 32], replicates=40)
    found = judge(rows, {"kind": "scaling", "of": "recovered", "ratio": "n/d", "at_least": 1.0})
    assert found.verdict == "inconclusive"
    assert "fewer than three slices have a threshold" in found.measured


def test_a_limit_is_printed_where_the_threshold_changes_and_the_cells_bound_it() -> None:
    (line,) = analysed(approaching_rows()).limits
    assert line.found.low < 2 < line.found.high < 2.6
    constant, few = analysed(approaching_rows(0.0)), analysed(approaching_rows(d=[12, 14, 16]))
    assert few.pooled[0].changes
    assert constant.limits == few.limits == []


def test_the_cells_of_all_sizes_collapse_on_one_curve() -> None:
    """Success is Phi((n - 2d) / sqrt n) up to a little, so that all sizes agree as functions of (n/d - 2) d^1/2."""
    rows = pd.concat([wendel_rows(n=range(d // 2, 4 * d, d // 5), d=[d], replicates=60) for d in (10, 20, 40, 80)])
    axes = main_figure(analysed(rows, report={"x": "n", "y": "d", "figure": "collapse"}))[1].draw().axes[0]
    assert axes.get_xlabel() == "(n/d - limit) d^power"
    points = np.concatenate([line.get_xydata() for line in axes.lines])
    assert len(axes.lines) == 4
    assert np.abs(points[:, 1] - norm.cdf(points[:, 0] / np.sqrt(2))).max() < 0.25
    text = axes.texts[0].get_text() if axes.texts else axes.get_title("right")
    limit, power = (float(part.split()[1]) for part in text.split(","))
    assert (limit, power) == (pytest.approx(2, abs=0.1), pytest.approx(0.5, abs=0.15))


def test_one_size_has_no_collapse() -> None:
    analysis = analysed(wendel_rows(d=[10], n=range(5, 41, 5)), report={"x": "n", "y": "d", "figure": "collapse"})
    with pytest.raises(ReportError, match="needs two sizes"):
        main_figure(analysis)[1].draw()
