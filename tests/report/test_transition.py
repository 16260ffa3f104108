import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from recovery.report.claims.analysis import Analysis
from recovery.report.claims.words import caption, in_words
from recovery.report.diagram.diagram import Diagram, Panel
from recovery.report.statistics.estimates import sensitivity
from recovery.report.statistics.pooled import pooled
from recovery.report.statistics.transition import collapse, monotone, slices

from .grids import fail, grid, wendel_rows

CLAIM = {"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.1}


def panel_of(**options: object) -> Panel:
    return Diagram.of(grid(wendel_rows(**options))).panels[0]  # type: ignore[arg-type]


def test_wendel_grids_have_ratio_two_slope_one_and_exponent_one_half() -> None:
    panel = panel_of(n=range(10, 301, 10), d=range(10, 81, 10), replicates=40, seed=3)
    found, scaling = pooled(panel), collapse(panel)
    assert found.ratio.low <= 2 <= found.ratio.high
    assert found.ratio.high - found.ratio.low < 0.05
    assert found.slope[0] <= 1 <= found.slope[1]
    assert scaling is not None
    assert scaling.low <= 0.5 <= scaling.high
    assert scaling.high - scaling.low < 0.4
    d = 50.0
    n = (found.ratio.estimate * d) + np.array([-1, 1]) * found.width(d) / 2
    assert np.diff(n) == pytest.approx(found.width(d))
    assert 0.8 < found.width(d) / (2 * 1.2816 * np.sqrt(2 * d)) < 1.25


def test_slices_lie_at_twice_their_size() -> None:
    panel = panel_of(n=range(10, 201, 5), d=[20, 40, 60], replicates=40, seed=5)
    for d, found in slices(panel):
        assert found.low <= 2 * d <= found.high


def test_failed_trials_bracket_the_threshold() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=[20, 40], replicates=10, seed=6)
    whole = pooled(Diagram.of(grid(rows)).panels[0])
    some = pooled(Diagram.of(grid(fail(rows, slice(0, len(rows), 9)))).panels[0])
    assert whole.bracket == (whole.ratio.estimate, whole.ratio.estimate)
    assert some.bracket[0] < some.ratio.estimate < some.bracket[1]


def test_monotonicity_is_kept_by_the_law_and_broken_by_a_dip() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=[20, 40], replicates=20, seed=7)
    assert monotone(Diagram.of(grid(rows)).panels[0]) > 0.01
    rows.loc[(rows["n"] == 150) & (rows["d"] == 20), "recovered"] = False
    assert monotone(Diagram.of(grid(rows)).panels[0]) < 0.01


def test_sensitivity_is_flat_between_the_deviations_of_success_and_failure() -> None:
    rows = wendel_rows(n=range(10, 201, 10), d=[20, 40], replicates=5, seed=8)
    rows["max_deviation"] = np.where(rows["recovered"].astype(bool), 1e-7, 1e-1)
    column, series = sensitivity(Diagram.of(grid(rows)))
    assert column == "max_deviation"
    expected = pooled(Diagram.of(grid(rows)).panels[0]).model.estimate
    by_tolerance = {round(np.log10(tolerance), 1): found.estimate for tolerance, found in series[0]}
    assert all(by_tolerance[k] == pytest.approx(expected) for k in (-6.0, -4.0, -2.0))
    assert np.isnan(by_tolerance[-8.0])  # nothing counts as recovered
    assert np.isnan(by_tolerance[1.0])  # everything does


def test_a_threshold_that_is_no_ratio_is_withdrawn_with_its_reason():
    rows = wendel_rows(replicates=20)
    rng = np.random.default_rng(3)
    flat = rows.assign(recovered=pd.array(rng.random(len(rows)) < norm.cdf((rows["n"] - 55) / 8), dtype="boolean"))
    straight, constant = (Analysis(Diagram.of(grid(frame))).pooled[0] for frame in (rows, flat))
    assert caption(constant) == "50 %: not proportional to d"
    assert "no one n/d, because the ratio n/d changes by -" in in_words(constant)
    assert "[" in caption(straight)
    assert "no one n/d" not in in_words(straight)


def test_a_ratio_that_lies_beyond_all_cells_is_called_so():
    """A few yes at the last n of one d let the model put the threshold where nothing was measured."""
    rows = wendel_rows(n=range(10, 41, 10), d=[40, 60, 80], replicates=20, seed=2)
    few = rows["n"] / 10 - rows["replicate"] >= 2
    rows["recovered"] = pd.array(few & (rows["d"] == 40), dtype="boolean")
    found = pooled(Diagram.of(grid(rows)).panels[0])
    assert found.given.estimate > 1.0  # the largest n/d of the grid
    assert caption(found) == "50 %: beyond the grid"
    assert "beyond the n/d of the grid" in in_words(found)
    (row,) = Analysis(Diagram.of(grid(rows, claims=[CLAIM]))).measured_beside_stated
    assert (row.measured, row.interval, row.stated) == ("beyond the grid", "", "2 ± 0.1")


def test_a_ratio_without_a_curve_that_no_cell_reaches_is_no_number():
    """The curve's shape fails, and rising fractions never cross one half."""
    rows = wendel_rows(n=range(10, 51, 10), d=[20, 30], replicates=5)
    yes = {20: [0, 3, 3, 1, 1], 30: [0, 0, 3, 3, 2]}
    rows["recovered"] = pd.array([r < yes[d][n // 10 - 1] for n, d, r in rows[["n", "d", "replicate"]].to_numpy()])
    analysis = Analysis(Diagram.of(grid(rows, claims=[CLAIM])))
    (found,), (claim,) = analysis.pooled, analysis.claims
    assert found.reasons == ("exponent",)
    assert np.isnan(found.given.estimate)
    assert in_words(found).startswith("50 % at n/d beyond the grid (above 0.667)")
    assert analysis.measured_beside_stated[0].measured == "beyond the grid"
    assert claim.verdict == "cannot tell"
    assert claim.measured.startswith("n/d beyond the grid, 95 % interval above 0.667")
    assert claim.measured.endswith("n between 1.9 d and 2.1 d would tell more")
