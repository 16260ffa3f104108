"""Sweeps whose grid refines itself: values of x are added at the threshold, and every process sees the same plan."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recovery.cli.main import main
from recovery.config import load
from recovery.config.refinement import middle, refined
from recovery.errors import RecoverError
from recovery.extras.merging import merge_folders
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, summary
from recovery.report.figures.map import MAP
from recovery.report.page.spec import Chart
from recovery.runner.plan import plan
from recovery.runner.rerun import trials_of_grid
from recovery.store import read

from .sweeps import rounds, rows, until_config as config
from .test_own_axes import ALONG, own, thresholds
from .test_until import threshold, until

AXES = {"n": {"start": 4, "stop": 40, "step": 12}, "d": [4, 6, 8, 10, 12]}
FIRST = 4 * 5 * 2
RULE = "threshold +-0.3"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The config of a refined sweep, and its results folder."""
    folder = tmp_path_factory.mktemp("refined")
    path = config(folder, axes=AXES)
    assert until(path, folder / "out", RULE, refine=True).unmet == ""
    return path, folder / "out"


def test_a_coarse_grid_refines_itself_until_the_interval_is_narrow(swept: tuple[Path, Path]) -> None:
    path, out = swept
    found = threshold(out)
    assert found.interval.low <= 2 <= found.interval.high
    assert (found.interval.high - found.interval.low) / 2 <= 0.3
    cells = rows(out)[["n", "d"]].drop_duplicates()
    added = cells[~cells["n"].isin([4, 16, 28, 40])]
    assert (abs(added["n"] / added["d"] - 2) < 3).all()
    assert cells["n"].dtype == int
    assert rounds(out)[-1]["trials"] == len(rows(out))
    # Ids are hashes of coordinates: each trial is one of the even grid that has all values of n.
    fine = load(config(path.parent / "out", axes={**AXES, "n": {"start": 4, "stop": 40}}, replicates=2000))
    assert set(rows(out).index) <= set(fine.trials().ids)


def test_a_refined_sweep_is_merged_verified_and_continued(swept: tuple[Path, Path], tmp_path: Path) -> None:
    path, out = swept
    merge_folders([out], tmp_path / "merged")
    pd.testing.assert_frame_equal(rows(tmp_path / "merged"), rows(out))
    assert rounds(tmp_path / "merged") == rounds(out)
    assert set(trials_of_grid(read(out), trust=True).ids) == set(rows(out).index)
    with pytest.raises(SystemExit) as ended:
        main(["verify", str(tmp_path / "merged"), "--sample", "40", "--trust"])
    assert ended.value.code in (0, None)
    assert not len(plan(load(path, (), RULE), tmp_path / "merged").missing)
    assert len(plan(load(path, ["sampling.refine=false"], "threshold +-0.2"), tmp_path / "merged").trials) == len(
        rows(out)
    )


def test_an_own_axis_with_a_computed_n_is_refined_slice_by_slice(tmp_path: Path) -> None:
    axes = {"delta": [0.5, 1.5, 2.5, 3.5], "d": [8, 64], "n": "delta * d"}
    summary = until(own(tmp_path, axes), tmp_path / "out", "threshold +-0.3", refine=True)
    assert summary.unmet == ""
    for one in thresholds(tmp_path / "out"):
        assert one.interval.low <= 2 <= one.interval.high
        assert (one.interval.high - one.interval.low) / 2 <= 0.3 + 1e-9
    cells = rows(tmp_path / "out")[["delta", "d", "n"]].drop_duplicates()
    assert not cells.duplicated(["d", "n"]).any()


def test_a_grid_of_integers_that_has_none_in_between_says_so(tmp_path: Path) -> None:
    """At d = 2 no delta between 1.5 and 2, or 2 and 2.5, gives another n."""
    axes = {"delta": [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], "d": [2], "n": "delta * d"}
    report = {**ALONG, "y": None}
    path, most = own(tmp_path, axes, report=report), ("sampling.ceiling=50",)
    summary = until(path, tmp_path / "out", "threshold +-0.02", most, refine=True)
    assert not any("axes" in content for content in rounds(tmp_path / "out"))
    assert summary.unmet.startswith(("the spacing of the grid limits", "the ceiling of 50 times the first round"))


@pytest.mark.parametrize(
    ("ends", "kinds", "value"),
    [
        ((4, 16), {"whole": True, "log": False}, 10),
        ((4, 5), {"whole": True, "log": False}, None),
        ((1, 100), {"whole": True, "log": True}, 10),
        ((0.5, 1), {"whole": False, "log": False}, 0.75),
        ((1.625, 1.75), {"whole": False, "log": False}, 1.7),
        ((-1.0, 1.0), {"whole": False, "log": False}, 0.0),
        ((1e-3, 1e-2), {"whole": False, "log": True}, 0.003),
    ],
)
def test_a_new_value_is_short_and_in_the_middle(ends: Any, kinds: Any, value: float | None) -> None:
    found = middle(*ends, **kinds)
    assert (found, type(found)) == (value, type(value))


def test_rounds_may_not_bring_user_code() -> None:
    document = {"name": "x", "sampling": {"kind": "until"}, "method": {"kind": "min_norm"}, "axes": {"n": [4, 8]}}
    with pytest.raises(
        RecoverError, match="the stored rounds: name user code that the config does not name: evil:Code"
    ):
        refined(document, [{"n": [6], "method": ["evil:Code"]}])


def test_a_uniform_sweep_ignores_the_axes_of_rounds() -> None:
    document = {"name": "x", "method": {"kind": "min_norm"}, "axes": {"n": [4, 8]}}
    assert refined(document, [{"n": [6]}]) == document


def test_picture_and_page_draw_the_cells_that_have_trials(swept: tuple[Path, Path]) -> None:
    analysis = Analysis(Diagram.of(read(swept[1])))
    assert analysis.pooled[0].interval.known
    assert "in doubt along n" in summary(analysis.diagram)
    (panel,), columns = analysis.diagram.panels, Chart(analysis, "map").columns
    assert (panel.matrix("trials") > 0).sum() == len(panel.cells) == len(columns["x"])
    assert MAP.draw(analysis).axes
