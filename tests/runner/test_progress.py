"""The progress that a run reports."""

from pathlib import Path

from recovery.config import load
from recovery.runner.progress import State

from .sweeps import write_config


def test_the_time_left_is_told_from_the_second_results_on(tmp_path: Path) -> None:
    """The first results come after the workers have started, which says nothing about the trials."""
    trials = list(load(write_config(tmp_path)).trials())
    state = State(len(trials), float(len(trials)))
    rows = [{"status": "ok"}] * len(trials)
    assert state.seconds_left is None
    state.advance(zip(trials[:1], rows[:1], strict=True))
    assert state.seconds_left is None
    assert str(state) == "1 of 24 trials"
    state.advance(zip(trials[1:12], rows[1:12], strict=True))
    assert state.seconds_left is not None
    assert str(state).endswith(" left")
    state.advance(zip(trials[12:], rows[12:], strict=True))
    assert str(state) == "24 of 24 trials"
