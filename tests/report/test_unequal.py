"""Reports on cells with different numbers of trials, as in boundary sampling."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from recovery.report.claims import Analysis
from recovery.report.command import bundle
from recovery.report.diagram.diagram import Diagram
from recovery.report.figures import draw_map, render
from recovery.report.page import report_page
from recovery.report.statistics.proportions import wilson
from recovery.report.texts.tables import cell_table
from recovery.store import Grid, read
from recovery.store.round_files import counts

from .grids import grid, wendel_rows

COUNTS = {"0123456789abcdef": 2000}
ROUND = {
    "round": 2,
    "budget": 5000,
    "value": "recovered",
    "trials": 2000,
    "based_on": {},
    "slices": [],
    "counts": COUNTS,
}


@pytest.fixture(scope="module")
def unequal() -> Grid:
    """Four trials per cell, and 2000 where n = 2d."""
    rows = wendel_rows(replicates=4)
    more = wendel_rows(replicates=2000, seed=1)
    more = more[(more["n"] == 2 * more["d"]) & (more["replicate"] >= 4)]
    rows = pd.concat([rows, more], ignore_index=True)
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    return replace(grid(rows, replicates=4), rounds=[ROUND])


def test_thresholds_weigh_cells_by_their_trials(unequal: Grid) -> None:
    analysis = Analysis(Diagram.of(unequal))
    assert analysis.diagram.totals["missing"] == 0
    (found,) = analysis.pooled
    for size in found.slices:
        assert size.interval.low <= 2 * size.y <= size.interval.high
    assert found.interval.low <= 2 <= found.interval.high
    weighed = [cell for cell in found.panel.cells.itertuples() if cell.trials == 2000]
    assert all(abs(cell.value - 0.5) < 0.06 for cell in weighed)  # half of them recover at n = 2d


def test_wilsons_interval_is_scipys() -> None:
    for yes, no in [(0, 5), (5, 0), (3, 2), (40, 60)]:
        expected = binomtest(yes, yes + no).proportion_ci(method="wilson")
        low, high = wilson([yes], [no])
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert np.isnan(wilson([0], [0])).all()


def test_the_interval_of_a_cell_is_wilsons(unequal: Grid) -> None:
    diagram = Diagram.of(unequal)
    table = cell_table(diagram, [diagram.quantity])
    assert sorted(table["trials"].unique()) == [4, 2000]
    low, _ = wilson(table["recovered_yes"], table["recovered_no"])
    np.testing.assert_allclose(table["recovered_low"], low)
    widths = (table["recovered_high"] - table["recovered_low"])[(table["n"] == 2 * table["d"])]
    assert widths.max() < 0.05


def test_every_renderer_reports_how_trials_were_placed(unequal: Grid) -> None:
    analysis = Analysis(Diagram.of(unequal))
    words = "placed by outcome in 2 rounds: 4 to 2000 a cell, most where recovered is in doubt along n"
    assert words in analysis.diagram.summary()
    assert words in report_page([analysis])
    assert render(draw_map(analysis), "svg")


@pytest.mark.deep
def test_an_archive_keeps_the_rounds(unequal: Grid, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(bundle(Analysis(Diagram.of(unequal))))) as archive:
        archive.extractall(tmp_path)
    (folder,) = tmp_path.iterdir()
    assert counts(read(folder).rounds) == COUNTS
