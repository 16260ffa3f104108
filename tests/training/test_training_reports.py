"""Figures of trajectories, from a sweep that was really run."""

from pathlib import Path

import numpy as np
import pytest

from recovery.config import load
from recovery.report.claims import Analysis
from recovery.report.command import report
from recovery.report.diagram.diagram import Diagram
from recovery.report.figures import drawings, figures_beside, render
from recovery.report.figures.training_plots import RECORD_KINDS, firsts, runs_of
from recovery.report.until import interim_analysis
from recovery.runner.engine import Engine
from recovery.runner.plan import plan
from recovery.runner.progress import Progress
from recovery.runner.run import Options, run
from recovery.runner.stop import Stop
from recovery.store import Grid, read
from recovery.training.population import landscape
from tests.own_method import write_method

TRAINED = """
name: trained
replicates: 2
n: 10
d: 8
data: {ensemble: standard}
planted: {kind: linear, direction: basis}
architecture: relu
patterns: {kind: sampled, all_ones: ignore}
method: {kind: train, loss: population, neurons: 2, outer: signs, initialization: xavier, optimizer: gd,
         learning_rate: 0.1, epochs: 200, record: 20}
axes:
  method.center: [0.0, 1.5]
"""
SEVERAL = TRAINED.replace("neurons: 2, outer: signs", "neurons: 4, outputs: 2, outer: trained")


def stored(tmp_path: Path, text: str) -> Grid:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with Stop() as stop:
        summary = run(plan(load(path), tmp_path / "out"), Options(Engine(1)), Progress(), stop, interim_analysis)
    assert not summary.failed
    return read(tmp_path / "out")


def test_records_are_found_again_by_cell_and_replicate(tmp_path):
    grid = stored(tmp_path, TRAINED)
    runs = runs_of(grid)
    assert [run.cell for run in runs] == 2 * ["center = 0"] + 2 * ["center = 1.5"]
    assert [run.cell for run in firsts(runs)] == ["center = 0", "center = 1.5"]
    rows = grid.frame.set_index(["method.center", "replicate"])
    for run_, key in zip(runs, [(0.0, 0), (0.0, 1), (1.5, 0), (1.5, 1)], strict=True):
        assert run_.record["loss"][-1] == rows.loc[key, "training_loss"]
        assert run_.record["epoch"].tolist() == [0, 1, 2, 4, 8, 16, *range(20, 201, 20)]


def test_two_fixed_signs_have_paths_and_a_landscape_and_several_outputs_have_pairs(tmp_path):
    assert set(figures_beside(Analysis(Diagram.of(stored(tmp_path, TRAINED))))) == {"loss", "landscape"}
    other = tmp_path / "several"
    other.mkdir()
    assert set(figures_beside(Analysis(Diagram.of(stored(other, SEVERAL))))) == {"loss", "pairing"}
    assert set(figures_beside(Analysis(Diagram.of(read(other / "out"), settings=["records=[loss]"])))) == {"loss"}


def test_a_path_ends_where_the_neuron_does(tmp_path):
    grid = stored(tmp_path, TRAINED.replace("neurons: 2", "neurons: 4"))
    ax = figures_beside(Analysis(Diagram.of(grid)))["paths"].draw().axes[0]
    ends = {tuple(np.round(line.get_xydata()[0], 12)) for line in ax.lines if line.get_marker() == "o"}
    inner = runs_of(grid)[0].record["inner"][-1]
    assert ends == {tuple(np.round(point, 12)) for point in inner}


def test_report_writes_the_extra_figures_beside_the_diagram(tmp_path):
    grid = stored(tmp_path, TRAINED)
    report([grid.path], "svg", "population_loss", None)
    names = {path.name for path in (grid.path / "report").iterdir()}
    assert names == {"trained-population_loss.svg", "trained-loss.svg", "trained-landscape.svg"}


def test_the_landscape_has_its_minimum_at_plus_and_minus_a_and_a_flat_valley():
    grid = np.linspace(-2.0, 2.0, 81)
    loss = landscape(grid)
    i, j = np.unravel_index(np.argmin(loss), loss.shape)
    assert (grid[i], grid[j]) == (1.0, -1.0)
    assert loss[i, j] == pytest.approx(0.0, abs=1e-15)
    valley = [loss[np.argmin(abs(grid - (c + 1.0))), np.argmin(abs(grid - c))] for c in (0.25, 0.5, 1.0)]
    np.testing.assert_allclose(valley, 0.25, rtol=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_run_that_diverged_can_be_drawn(tmp_path):
    grid = stored(tmp_path, TRAINED.replace("learning_rate: 0.1", "learning_rate: 50"))
    assert set(grid.frame["stopped"]) == {"diverged"}
    for figure in figures_beside(Analysis(Diagram.of(grid))).values():
        render(figure.draw(), "svg")


RECORDED = """
name: recorded
replicates: 1
n: 4
data: {ensemble: gaussian}
planted: {kind: linear}
method: {kind: user_recorder:Own}
axes: {d: [2, 3]}
"""


def test_records_of_a_user_method_have_no_figures_of_training(tmp_path: Path) -> None:
    call = "return Measurement(recovered=True).recording({'loss': np.ones(5), 'neurons': np.ones(5)})"
    write_method(tmp_path / "user_recorder.py", call)
    grid = stored(tmp_path, RECORDED)
    assert [run.record["loss"].tolist() for run in runs_of(grid)] == [[1.0] * 5] * 2
    assert figures_beside(Analysis(Diagram.of(grid))) == {}


def test_the_config_names_a_figure_of_records_that_comes_first(tmp_path):
    grid = stored(tmp_path, TRAINED + "report: {figure: landscape}\n")
    found = drawings(Analysis(Diagram.of(grid)))
    assert list(found) == ["", "loss"]  # a table says what two grid cells would
    assert found[""].words == RECORD_KINDS["landscape"][0]
    grid.sweep["config"]["report"]["figure"] = "pairing"  # which these runs do not have
    assert list(drawings(Analysis(Diagram.of(grid)))) == ["", "loss", "landscape"]
    assert list(drawings(Analysis(Diagram.of(grid)), told=True)) == ["loss", "landscape"]
