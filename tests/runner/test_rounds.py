"""Boundary sampling: rounds that depend on finished rounds only."""

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recovery.config import load
from recovery.errors import StoreError
from recovery.runner.plan import plan
from recovery.runner.rounds import plan_round
from recovery.runner.sweep_status import sweep_status
from recovery.store import read
from recovery.store.folder import Folder
from recovery.store.grid import outcomes

from .kills import kill_and_resume, start, stored_ids
from .sweeps import Acting, interrupting, rows, sweep, write_config

AXES = {"n": {"start": 2, "stop": 24, "step": 2}, "d": [3, 5]}
COARSE, BUDGET = 12 * 2 * 3, 400


def boundary(folder: Path, **fields: Any) -> Path:
    """A config of 24 cells whose transitions lie at n = 6 and 10."""
    sampling = {"kind": "boundary", "rounds": 4, "budget": BUDGET}
    fields = {"axes": AXES, "replicates": 3, "sampling": sampling, **fields}
    return write_config(folder, method={"act": "transition", **fields.pop("method", {})}, **fields)


def sizes(out: Path) -> pd.Series:
    return rows(out).groupby(["d", "n"]).size()


def test_rows_do_not_depend_on_workers_shards_or_interruptions(tmp_path: Path) -> None:
    config = boundary(tmp_path)
    summary = sweep(config, tmp_path / "one")
    expected = rows(tmp_path / "one")
    assert summary.stopped is None
    assert summary.planned == len(expected) == BUDGET
    plans = [path.read_bytes() for path in sorted((tmp_path / "one" / "rounds").iterdir())]
    assert len(plans) == 3

    sweep(config, tmp_path / "two", jobs=2)
    pd.testing.assert_frame_equal(rows(tmp_path / "two"), expected)

    waits = []
    for turn in range(20):
        done = sweep(config, tmp_path / "shards", shard=(1 + turn % 2, 2))
        waits.append(done.stopped)
        if sum(done.stored.values()) == BUDGET:
            break
    assert waits[0] == f"round 2 waits for {COARSE // 2} trials of earlier rounds that have no row yet"
    assert waits[-1] is None
    pd.testing.assert_frame_equal(rows(tmp_path / "shards"), expected)

    ran = 0
    for stop in (30, 100, 200, 350, None):
        progress = interrupting(stop - ran) if stop else None
        ran += sum(sweep(config, tmp_path / "halves", progress=progress).ran.values())
    assert ran == BUDGET
    pd.testing.assert_frame_equal(rows(tmp_path / "halves"), expected)
    for out in ("two", "shards", "halves"):
        assert plans == [path.read_bytes() for path in sorted((tmp_path / out / "rounds").iterdir())]


@pytest.mark.deep
def test_kills_lose_nothing(tmp_path: Path) -> None:
    config = boundary(tmp_path, method={"seconds": 0.01})
    kill_and_resume(config, tmp_path / "killed", 2, random.Random(1))
    assert set(stored_ids(tmp_path / "killed").values()) == {1}
    sweep(config, tmp_path / "calm", jobs=8, backend="threading")
    pd.testing.assert_frame_equal(rows(tmp_path / "killed"), rows(tmp_path / "calm"))


def test_trials_go_to_the_transition_and_the_floor_stays(tmp_path: Path) -> None:
    sweep(boundary(tmp_path), tmp_path / "out")
    found = sizes(tmp_path / "out")
    assert found.min() == 3
    near = sum(found[d].loc[2 * d - 4 : 2 * d + 4].sum() for d in (3, 5))
    assert near > 0.8 * BUDGET
    assert found[3].sum() > found[5].sum()  # equal relative errors need more trials at 6 than at 10


def test_the_trials_are_those_of_a_uniform_sweep_with_more_replicates(tmp_path: Path) -> None:
    config = boundary(tmp_path)
    sweep(config, tmp_path / "out")
    most = int(sizes(tmp_path / "out").max())
    uniform = load(config, ["sampling={kind: uniform}", f"replicates={most}"])
    assert set(rows(tmp_path / "out").index) <= {trial.id for trial in uniform.trials()}
    assert plan(uniform, tmp_path / "out").missing  # and goes on in the same folder
    first = plan(load(config, ["sampling={kind: uniform}"]), tmp_path / "out")
    assert (first.relation, len(first.missing)) == ("part", 0)


def test_a_round_depends_on_no_order(tmp_path: Path) -> None:
    config = boundary(tmp_path)
    sweep(config, tmp_path / "out")
    shuffled = {"d": [5, 3], "n": [24, 22, *range(2, 21, 2)]}
    one, other = load(config), load(boundary(tmp_path, axes=shuffled))
    told = outcomes(Folder(tmp_path / "out"), "recovered")
    trials = list(one.trials())
    expected = plan_round(one, trials, 2, 100, told)
    told = dict(sorted(told.items(), reverse=True))
    assert plan_round(other, random.Random(0).sample(list(other.trials()), len(trials)), 2, 100, told) == expected


def test_a_sweep_grows_and_never_shrinks(tmp_path: Path) -> None:
    config = boundary(tmp_path)
    sweep(config, tmp_path / "out")
    before = rows(tmp_path / "out")
    for grown, more in (
        ({"sampling": {"kind": "boundary", "rounds": 4, "budget": 450}}, 450),
        ({"sampling": {"kind": "boundary", "rounds": 7, "budget": 500}}, 500),
        ({"sampling": {"kind": "boundary", "rounds": 8, "budget": 560}, "replicates": 4}, 560),
        ({"sampling": {"kind": "boundary", "rounds": 9, "budget": 700}, "axes": {**AXES, "d": [3, 4, 5]}}, 700),
    ):
        fields = {"replicates": 4, **grown} if more > 560 else grown
        summary = sweep(boundary(tmp_path, **fields), tmp_path / "out")
        assert (summary.stopped, summary.planned) == (None, more)
        after = rows(tmp_path / "out")
        assert len(after) == more
        pd.testing.assert_frame_equal(after.loc[before.index], before)
        before = after
    with pytest.raises(StoreError, match=r"sampling\.budget is 600; raise it"):
        plan(load(config, ["sampling.budget=600"]), tmp_path / "out")
    with pytest.raises(StoreError, match=r"trials are not in this one"):
        plan(load(config, ["axes.n=[2, 4, 6, 80]"]), tmp_path / "out")


def test_without_a_transition_only_the_floor_is_drawn(tmp_path: Path) -> None:
    config = boundary(
        tmp_path, axes={"n": [2, 3, 4], "d": [40, 50]}, sampling={"kind": "boundary", "rounds": 3, "budget": 90}
    )
    summary = sweep(config, tmp_path / "out")
    assert (summary.stopped, summary.planned, len(rows(tmp_path / "out"))) == (None, 18, 18)
    assert sum(sweep(config, tmp_path / "out").ran.values()) == 0
    assert read(tmp_path / "out").sweep["trials"] == 18
    assert sweep_status(tmp_path / "out").missing == 0


def test_failed_trials_count_as_drawn(tmp_path: Path) -> None:
    config = boundary(
        tmp_path,
        axes={"n": [2, 6, 10, 14], "d": [3, 5], "method.act": ["transition", "raise"]},
        sampling={"kind": "boundary", "rounds": 3, "budget": 120},
        replicates=2,
    )
    summary = sweep(config, tmp_path / "out", max_equal_failures=0)
    assert summary.stored["failed"] == 8 * 2
    assert sum(summary.stored.values()) == 120
    again = sweep(config, tmp_path / "out", retry_failed=True, max_equal_failures=0)
    assert again.ran == {"failed": 8 * 2}


def test_rounds_need_outcomes(tmp_path: Path) -> None:
    config = boundary(tmp_path, report={"value": "holds"})
    with pytest.raises(StoreError, match=r"no trial measured 'holds'.*report\.value"):
        sweep(config, tmp_path / "out")


def test_a_round_file_that_cannot_be_read_stops_the_run_and_the_same_command_continues(tmp_path: Path) -> None:
    """Neither planning the round again without end, nor taking a moment's failure of the file system for damage."""
    config, out = boundary(tmp_path), tmp_path / "out"
    second, kept = out / "rounds" / "02.json", tmp_path / "02.json"

    def make_unreadable() -> None:
        second.rename(kept)
        second.symlink_to(second)  # too many levels of symbolic links

    stopped = sweep(config, out, progress=Acting(COARSE + 1, make_unreadable)).stopped
    assert "rounds: cannot be read" in str(stopped)
    kept.replace(second)
    stopped = sweep(config, out, progress=Acting(1, lambda: second.write_text("{}"))).stopped
    assert "02.json: does not match its checksum" in str(stopped)
    summary = sweep(config, out)
    assert ([damaged.path.name for damaged in summary.damaged], summary.stopped) == (["02.json"], None)
    assert len(rows(out)) == BUDGET


def test_a_damaged_round_is_moved_aside_and_planned_again(tmp_path: Path) -> None:
    config = boundary(tmp_path)
    sweep(config, tmp_path / "out")
    last = tmp_path / "out" / "rounds" / "04.json"
    content = last.read_bytes()
    last.write_bytes(content.replace(b'"trials": 400', b'"trials": 401'))
    with pytest.raises(StoreError, match=r"04\.json: does not match its checksum"):
        read(tmp_path / "out")
    summary = sweep(config, tmp_path / "out")
    assert [damaged.path.name for damaged in summary.damaged] == ["04.json"]
    assert sum(summary.ran.values()) == 0
    assert last.read_bytes() == content


def test_status_reports_the_current_round(tmp_path: Path) -> None:
    config = boundary(tmp_path)
    sweep(config, tmp_path / "out", shard=(1, 2))
    found = sweep_status(tmp_path / "out")
    assert (found.planned, found.stored, found.round, found.round_missing) == (BUDGET, COARSE // 2, 1, COARSE // 2)
    sweep(config, tmp_path / "out")
    found = sweep_status(tmp_path / "out")
    assert (found.planned, found.stored, found.missing, found.round) == (BUDGET, BUDGET, 0, 4)


@pytest.mark.deep
def test_two_sweeps_on_one_folder_agree_on_the_rounds(tmp_path: Path) -> None:
    config = boundary(tmp_path, method={"seconds": 0.005})
    both = [start(config, "--out", tmp_path / "both", "--jobs", 1, "--quiet") for _ in range(2)]
    assert [(process.communicate()[1], process.returncode)[1] for process in both] == [0, 0]
    sweep(config, tmp_path / "one", jobs=8, backend="threading")
    pd.testing.assert_frame_equal(rows(tmp_path / "both"), rows(tmp_path / "one"))
