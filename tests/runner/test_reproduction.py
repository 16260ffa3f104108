"""Figures one after another: which part of one is run next, and what a limit on its time leaves."""

import signal
from collections import Counter
from pathlib import Path

import pytest

from recovery.errors import StoreError
from recovery.extras import reproduction
from recovery.extras.reproduction import Figure, run_figure
from recovery.runner.engine import Engine
from recovery.runner.forecast import Forecast
from recovery.runner.progress import Progress
from recovery.runner.run import Options, Summary
from recovery.runner.stop import Stop
from recovery.store.parts import list_parts
from tests.runner.sweeps import interrupting, rows, sweep, write_config

ONE_JOB = Options(Engine(1, "processes"))
LONG = 600.0
"""Seconds that nothing here takes."""


@pytest.fixture
def figure(tmp_path: Path) -> Figure:
    """Six cells of four replicates."""
    return Figure(str(write_config(tmp_path)), tmp_path / "out")


def foretell(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let every trial be forecast to take so long."""

    def forecast(plan: object, options: Options) -> Forecast:
        missing = len(plan.missing)  # type: ignore[attr-defined]
        return Forecast(missing, seconds * missing)

    monkeypatch.setattr(reproduction, "forecast", forecast)


def run(figure: Figure, seconds: float | None = None) -> Summary:
    with Stop() as stop:
        return run_figure(figure, ONE_JOB, stop, seconds, lambda name: Progress())


def replicates(figure: Figure) -> set[int]:
    """How many rows the cells have."""
    stored = rows(figure.folder)
    counts = Counter(zip(stored["n"], stored["d"], strict=True))
    return {*counts.values()} | ({0} if len(counts) < 6 else set())


def test_without_a_limit_all_is_run_and_is_one_part(figure: Figure) -> None:
    assert run(figure).stopped is None
    assert replicates(figure) == {4}
    assert len(list_parts(figure.folder / "trials")) == 1


@pytest.mark.parametrize(("seconds", "trials"), [(8.0, None), (10.0, 12), (20.0, 18), (40.0, 24)])
def test_the_next_step_is_as_many_whole_replicates_as_fit(
    figure: Figure, monkeypatch: pytest.MonkeyPatch, seconds: float, trials: int | None
) -> None:
    """Six trials of 1 s a replicate; a forecast may fill 70 % of what is left."""
    first = figure.next_step(ONE_JOB, seconds)
    assert first is not None
    assert len(first.trials) == 6
    sweep(Path(figure.name), figure.folder, shard=(1, 2))  # of all four replicates: what is begun is ended first
    begun = figure.next_step(ONE_JOB, seconds)
    assert begun is not None
    assert len(begun.missing) == 12
    one = Figure(figure.name, figure.folder.with_name("one"))
    run(Figure(one.name, one.folder, 1))
    foretell(monkeypatch, 1.0)
    step = one.next_step(ONE_JOB, seconds)
    assert (step and len(step.trials)) == trials


def test_calling_again_goes_on_and_changes_no_row(figure: Figure, monkeypatch: pytest.MonkeyPatch) -> None:
    foretell(monkeypatch, LONG)
    assert "another replicate" in str(run(figure, LONG).stopped)
    first = rows(figure.folder)
    assert replicates(figure) == {1}
    assert run(figure).stopped is None
    assert rows(figure.folder).loc[first.index].equals(first)
    assert replicates(figure) == {4}


def test_fewer_replicates_than_are_stored_leave_them(figure: Figure) -> None:
    run(figure)
    few = Figure(figure.name, figure.folder, 1)
    assert not len(few.plan().missing)
    assert run(few).stopped is None
    assert replicates(figure) == {4}


def test_a_finished_sweep_from_elsewhere_is_taken_as_it_is(figure: Figure) -> None:
    sweep(Path(figure.name), figure.folder)
    before = rows(figure.folder, drop=())
    summary = run(figure, LONG)
    assert not summary.ran
    assert summary.stored == {"ok": 24}
    assert rows(figure.folder, drop=()).equals(before)
    assert len(list_parts(figure.folder / "trials")) == 1


def test_a_limit_ends_a_figure_and_its_rows_stay(figure: Figure) -> None:
    with Stop() as stop:
        summary = run_figure(figure, ONE_JOB, stop, LONG, lambda name: interrupting(3, signal.SIGALRM))
        assert "its time of 600 s is over" in str(summary.stopped)
        assert stop.reason is None
    assert 3 <= len(rows(figure.folder)) <= 6


def test_a_signal_stops_all_figures(figure: Figure) -> None:
    with Stop() as stop:
        summary = run_figure(figure, ONE_JOB, stop, LONG, lambda name: interrupting(3))
        assert stop.reason == summary.stopped == "SIGTERM"


def test_another_sweep_in_the_folder_is_refused(tmp_path: Path, figure: Figure) -> None:
    run(figure)
    before = rows(figure.folder)
    (tmp_path / "other").mkdir()
    other = Figure(str(write_config(tmp_path / "other", seed=8)), figure.folder)
    with pytest.raises(StoreError, match="holds another sweep"):
        run(other, LONG)
    assert rows(figure.folder).equals(before)
