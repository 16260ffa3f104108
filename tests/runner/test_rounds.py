"""Rounds of a sweep with a rule: planned from finished rounds alone, and damage to their files."""

import random
from pathlib import Path

import pandas as pd
import pytest

from recovery.config import load
from recovery.errors import StoreError
from recovery.report.until import interim_analysis
from recovery.runner.plan import plan
from recovery.runner.rounds import plan_round
from recovery.runner.sweep_status import sweep_status

from .sweeps import Acting, assert_undisturbed, rounds, rows, sweep, until_config

AXES = {"n": {"start": 2, "stop": 24, "step": 2}, "d": [3, 5]}
FIRST = 12 * 2 * 2
RULE = "threshold +-0.3"
SAMPLING = {"kind": "until", "rule": RULE}


def test_a_round_depends_on_no_order(tmp_path: Path) -> None:
    config, out = until_config(tmp_path, axes=AXES, sampling=SAMPLING), tmp_path / "out"
    sweep(config, out)
    for path in (out / "rounds").iterdir():
        path.unlink()
    sweep(until_config(tmp_path, axes=AXES, sampling=SAMPLING), out)
    shuffled = {"d": [5, 3], "n": [24, 22, *range(2, 21, 2)]}
    one, other = load(config), load(until_config(tmp_path, axes=shuffled, sampling=SAMPLING))
    interim = interim_analysis(out)
    trials = list(one.trials())
    expected = plan_round(one, trials, 2, interim)
    interim = interim._replace(outcomes=dict(sorted(interim.outcomes.items(), reverse=True)))
    assert plan_round(other, random.Random(0).sample(list(other.trials()), len(trials)), 2, interim) == expected


def test_failed_trials_count_as_drawn(tmp_path: Path) -> None:
    axes = {"n": [2, 6, 10, 14], "d": [3, 5], "method.act": ["transition", "raise"]}
    config = until_config(tmp_path, axes=axes, sampling={**SAMPLING, "ceiling": 3})
    summary = sweep(config, tmp_path / "out")
    assert summary.stored["failed"] == 8 * 2
    assert sweep(config, tmp_path / "out", rerun=("failed",)).ran == {"failed": 8 * 2}


def test_a_round_file_that_cannot_be_read_stops_the_run_and_the_same_command_continues(tmp_path: Path) -> None:
    """Neither planning the round again without end, nor taking a moment's failure of the file system for damage."""
    config, out = until_config(tmp_path, axes=AXES, sampling=SAMPLING), tmp_path / "out"
    second, kept = out / "rounds" / "02.json", tmp_path / "02.json"

    def make_unreadable() -> None:
        second.rename(kept)
        second.symlink_to(second)  # too many levels of symbolic links

    stopped = sweep(config, out, progress=Acting(FIRST + 1, make_unreadable)).stopped
    assert "rounds: cannot be read" in str(stopped)
    kept.replace(second)
    stopped = sweep(config, out, progress=Acting(1, lambda: second.write_text("{}"))).stopped
    assert "02.json: does not match its checksum" in str(stopped)
    summary = sweep(config, out)
    assert ([damaged.path.name for damaged in summary.damaged], summary.stopped) == (["02.json"], None)
    assert_undisturbed(config, out)


def test_a_sweep_with_rounds_grows_and_never_shrinks(tmp_path: Path) -> None:
    config, out = until_config(tmp_path, axes=AXES, sampling=SAMPLING), tmp_path / "out"
    sweep(config, out)
    before = rows(out)
    for grown in (
        {"sampling": {"kind": "until", "rule": "threshold +-0.15"}},
        {"sampling": SAMPLING, "axes": {**AXES, "d": [3, 4, 5]}},
        {"sampling": SAMPLING, "axes": {**AXES, "d": [3, 4, 5]}, "replicates": 3},
    ):
        sweep(until_config(tmp_path, **{"axes": AXES, **grown}), out)
        after = rows(out)
        assert len(after) >= len(before)
        pd.testing.assert_frame_equal(after.loc[before.index], before)
        before = after
    for smaller in ({"axes": {**AXES, "n": [2, 4, 6, 80]}, "sampling": SAMPLING}, {"axes": AXES}):
        with pytest.raises(StoreError, match="trials are not in this one"):
            plan(load(until_config(tmp_path, **smaller)), out)


def test_status_reports_the_current_round(tmp_path: Path) -> None:
    config, out = until_config(tmp_path, axes=AXES, sampling=SAMPLING), tmp_path / "out"
    sweep(config, out, shard=(1, 2))
    found = sweep_status(out)
    assert (found.planned, found.stored, found.round, found.missing) == (FIRST, FIRST // 2, 1, FIRST // 2)
    sweep(config, out)
    found = sweep_status(out)
    assert (found.planned, found.missing, found.round) == (len(rows(out)), 0, len(rounds(out)) + 1)
