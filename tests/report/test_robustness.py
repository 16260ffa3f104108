"""Degenerate grids: each gives a valid report in every format, or one clear message."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, summary
from recovery.report.figures import render
from recovery.report.figures.map import MAP
from recovery.report.page import report_page
from recovery.report.statistics import exact_interval
from recovery.report.texts.tables import as_csv, as_json
from recovery.store import Grid

from .grids import analysed, fail, grid, leave_undecided, text_of, wendel_rows


def undecided() -> pd.DataFrame:
    rows = wendel_rows(n=[10, 20], d=[5, 10])
    return leave_undecided(rows, rows["n"] == 10)


def even_odds(**axes: Any) -> pd.DataFrame:
    """Return rows in which half of the trials of every cell recover, independently of n/d."""
    rows = wendel_rows(replicates=2, **axes)
    rows["recovered"] = pd.array(rows["replicate"] == 0, dtype="boolean")
    return rows


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "one cell": (lambda: wendel_rows(n=[40], d=[20]), {}),
    "one trial": (lambda: wendel_rows(n=[40], d=[20], replicates=1), {}),
    "one replicate": (lambda: wendel_rows(replicates=1), {}),
    "one row": (lambda: wendel_rows(d=[10]), {}),
    "one column": (lambda: wendel_rows(n=[20]), {}),
    "all failed": (lambda: fail(wendel_rows(n=[10, 20], d=[5, 10]), slice(None)), {}),
    "undecided": (undecided, {}),
    "all recovered": (lambda: wendel_rows(n=[90, 100], d=[5]), {}),
    "even odds": (even_odds, {}),
    "even odds in one row": (lambda: even_odds(d=[10]), {}),
    "even odds along the noise": (
        lambda: even_odds(n=[60], d=[30], noise=np.linspace(0, 1, 5)),
        {"report": {"value": "recovered", "x": "noise", "y": None}},
    ),
    "none recovered": (lambda: wendel_rows(n=[10, 20], d=[30, 40]), {}),
    "d across": (wendel_rows, {"report": {"value": "recovered", "x": "d", "y": "n", "curves": ["wendel"]}}),
    "words across": (lambda: wendel_rows(ensemble=["gaussian", "haar"]), {"report": {"x": "ensemble", "y": "n"}}),
    "noise across": (
        lambda: wendel_rows(n=[60], d=[30], noise=np.linspace(0, 1, 5)),
        {"report": {"value": "absolute_distance", "x": None, "y": None}},
    ),
    "no report section": (wendel_rows, {"report": {}}),
    "many panels": (lambda: wendel_rows(n=[20, 60], d=[10, 20], noise=np.arange(12.0), replicates=1), {}),
    "sparse": (lambda: wendel_rows()[lambda rows: (rows["n"] // 10 + rows["d"] // 5) % 2 == 0], {}),
}


@pytest.mark.deep
@pytest.mark.parametrize("case", CASES)
def test_every_format_renders(case: str) -> None:
    rows, document = CASES[case]
    analysis = analysed(rows(), **document)
    assert text_of(analysis.diagram)
    figure = MAP.draw(analysis)
    for kind, magic in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert render(figure, kind).startswith(magic)
    assert as_csv([analysis]).count("\n") == len(analysis.diagram.table) + 1
    assert as_json([analysis]).startswith("[{")
    assert "</html>" in report_page([analysis])


@pytest.mark.deep
def test_a_fine_grid_fits_one_page() -> None:
    size = 500
    rows = wendel_rows(n=range(1, size + 1), d=range(1, size + 1), replicates=1)
    analysis = analysed(rows)
    assert len(analysis.diagram.table) == size * size
    assert len(report_page([analysis])) < 1_500_000
    sizes = analysis.pooled[0].slices
    assert len(sizes) == size
    within = [size.along_x.low <= 2 * size.y <= size.along_x.high for size in sizes if size.y <= 220]
    assert binomtest(sum(within), len(within), 0.95, alternative="less").pvalue > 1e-3
    assert analysis.pooled[0].interval.low <= 2 <= analysis.pooled[0].interval.high
    assert len(render(MAP.draw(analysis), "pdf")) < 1_000_000


@pytest.fixture(scope="module")
def unequal() -> Grid:
    """Four trials per cell, and 2000 where n = 2d."""
    rows = wendel_rows(replicates=4)
    more = wendel_rows(replicates=2000, seed=1)
    more = more[(more["n"] == 2 * more["d"]) & (more["replicate"] >= 4)]
    rows = pd.concat([rows, more], ignore_index=True)
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    return replace(grid(rows, replicates=4), rounds=[{"round": 2, "value": "recovered"}])


def test_thresholds_weigh_cells_by_their_trials(unequal: Grid) -> None:
    analysis = Analysis(Diagram.of(unequal))
    assert analysis.diagram.totals["missing"] == 0
    (found,) = analysis.pooled
    for size in found.slices:
        assert size.along_x.low <= 2 * size.y <= size.along_x.high
    assert found.interval.low <= 2 <= found.interval.high
    weighed = [cell for cell in found.panel.cells.itertuples() if cell.trials == 2000]
    assert all(abs(cell.value - 0.5) < 0.06 for cell in weighed)  # half of them recover at n = 2d


def test_the_interval_of_a_proportion_is_scipys() -> None:
    for yes, no in [(0, 5), (5, 0), (3, 2), (40, 60)]:
        expected = binomtest(yes, yes + no).proportion_ci()
        low, high = exact_interval([yes], [no])
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert np.isnan(exact_interval([0], [0])).all()


def test_every_renderer_reports_how_trials_were_placed(unequal: Grid) -> None:
    analysis = Analysis(Diagram.of(unequal))
    words = "placed by outcome in 2 rounds: 4 to 2000 a cell, most where recovered is in doubt along n"
    assert words in summary(analysis.diagram)
    assert words in report_page([analysis])
