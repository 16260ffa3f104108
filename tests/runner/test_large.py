"""Plans are arithmetic: stored grids have nothing to run, and columns say what the cells and trials do."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from recovery.config import Trials, load, trials_of
from recovery.runner.batches import in_turn
from recovery.runner.plan import plan
from recovery.store.folder import Folder

from .sweeps import write_config

PAPERS = Path(__file__).parents[2] / "results" / "papers"
STORED = ("p1-fig04", "p1-fig06-boundary", "p1-fig10", "p1-theorem7", "p2-fig04", "p3-support-lasso", "p4-algorithms")


@pytest.mark.parametrize("name", STORED)
def test_a_stored_grid_of_the_papers_has_nothing_to_run(name: str) -> None:
    stored = Folder(PAPERS / name).load()["config"]
    planned = plan(load(name, [f"replicates={stored['replicates']}"]), PAPERS / name)
    assert len(planned.trials) > 0
    assert not planned.unstored.any()
    assert planned.counts.total() == len(planned.trials)


def blocks(folder: Path) -> Trials:
    """Two blocks that overlap, with a zip, a derived axis, and filters."""
    zipped = {"architecture": ["relu", "relu_skip"], "noise": [0.0, 0.1]}
    axes = [
        {"n": {"start": 2, "stop": 40, "step": 2}, "d": [1, 2, 3], "zip": [zipped], "exclude": [{"n": 4, "d": 3}]},
        {"n": {"times": "d", "values": [1, 2, 1.5]}, "d": [2, 3], "include": [{"d": 2}, {"n": 3}]},
    ]
    return load(write_config(folder, axes=axes, replicates=3)).trials()


def test_columns_are_those_of_the_cells_and_trials(tmp_path: Path) -> None:
    trials = blocks(tmp_path)
    each = list(trials)
    assert [trial.id for trial in each] == trials.ids
    assert len({*trials.ids}) == len(trials)
    assert [trials[i].id for i in (0, 7, -1)] == [each[i].id for i in (0, 7, -1)]
    assert [trial.cell.cost for trial in each] == trials.costs.tolist()
    assert [cell.id for cell in trials.cells] == [f"{key:016x}" for key in trials.cells.keys]
    for name, column in trials.cells.coordinates.items():
        assert [cell.coordinates[name] for cell in trials.cells] == list(column)
    chosen = trials.take(np.arange(len(trials)) % 5 == 2)
    assert chosen.ids == trials.ids[2::5] == [trial.id for trial in chosen]


def test_trials_at_hand_are_the_same_columns(tmp_path: Path) -> None:
    trials = blocks(tmp_path)
    given = trials_of(list(trials))
    assert given.ids == trials.ids
    assert given.costs.tolist() == trials.costs.tolist()
    assert in_turn(given).tolist() == in_turn(trials).tolist()
    assert Counter(in_turn(trials).tolist()) == Counter(range(len(trials)))


def test_a_million_cells_are_checked_and_made_when_they_are_reached() -> None:
    text = "name: large\ndata: {ensemble: gaussian}\nplanted: {kind: linear}\narchitecture: relu_skip\n"
    text += "method: {kind: least_squares}\naxes: {n: {start: 1, stop: 1000}, d: {start: 1, stop: 1000}}\n"
    sweep = load(text)
    assert (len(sweep.cells), sweep.size, sweep.cells.largest) == (1_000_000, 1_000_000, (1000, 1000))
    cell = sweep.cells[123_456]
    assert (cell.setting.n, cell.setting.d) == (124, 457)
    small = load(text, ["axes.n=[124]", "axes.d=[457]"]).trials()
    assert sweep.trials()[123_456].id == small[0].id
