"""Values that trials did not measure are unknown in every answer, and one command measures them."""

import json
from pathlib import Path

import numpy as np
import pytest

import recovery
from recovery.extras.compare import compare_grids
from tests.invoke import recover

from .grids import grid, wendel_rows

CONFIG = """
name: small
title: Small
seed: 3
replicates: 6
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
patterns: {kind: sampled}
method: {kind: min_norm}
axes: {n: [20, 45, 60, 120], d: [40]}
report: {value: recovered, x: n, y: d}
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same draws, once without and once with the distances of the trials that were decided without a solve."""
    folder = tmp_path_factory.mktemp("sweeps")
    (folder / "small.yaml").write_text(CONFIG)
    for name, more in (("brief", ()), ("full", ("--set", "method.distances=true"))):
        run = recover("sweep", folder / "small.yaml", "--quiet", *more, "--out", folder / name, "--jobs", "1")
        assert run.exit_code == 0, run.output
    return folder / "brief", folder / "full"


def counts(path: Path, value: str) -> tuple[int, int, int]:
    table = recovery.read(path).cells(value)
    return tuple(int(table[name].sum()) for name in ("yes", "no", "undecided"))


def test_an_event_that_was_not_measured_is_unknown(folders: tuple[Path, Path]) -> None:
    """Another tolerance of recovery is no more than its trials say: what is not known may be either."""
    brief, full = folders
    frame = recovery.read(brief).frame
    lacking = frame["max_deviation"].isna()
    assert lacking.any()
    assert not (lacking & frame["recovered"]).any()
    for bound in (1e-3, 0.3, 0.5, 2.0):
        (yes, no, unknown), (true, false, none) = (counts(path, f"max_deviation<={bound:g}") for path in folders)
        assert none == 0
        assert unknown == lacking.sum()
        assert yes <= true <= yes + unknown
        assert no <= false <= no + unknown
    said = recover("report", brief, "--value", "test_distance<=0.1").output
    assert f"{lacking.sum()} unmeasured" in said
    assert "undecided" not in said.partition("50 %")[0]
    assert f"recover sweep {brief.as_posix()} --measure test_distance" in " ".join(said.split())
    assert "unmeasured" not in recover("report", full, "--value", "test_distance<=0.1").output


def test_one_command_measures_the_value_on_the_same_draws(folders: tuple[Path, Path], tmp_path: Path) -> None:
    brief, full = folders
    out = tmp_path / "filled"
    recovery.run(brief.parent / "small.yaml", out, quiet=True, jobs=1)
    before = recovery.read(out).frame.set_index("trial_id")
    assert recover("sweep", out, "--measure", "test_distance", "--quiet", "--jobs", "1").exit_code == 0
    after = recovery.read(out).frame.set_index("trial_id").loc[before.index]
    assert after["test_distance"].notna().all()
    assert after[["verdict", "certificate"]].equals(before[["verdict", "certificate"]])
    same = before["test_distance"].notna()
    assert after.loc[same, "test_distance"].equals(before.loc[same, "test_distance"])
    assert after.loc[same, "started_at"].equals(before.loc[same, "started_at"])  # these did not run again
    wanted = recovery.read(full).frame
    assert sorted(after["test_distance"]) == pytest.approx(sorted(wanted["test_distance"]))
    again = recover("sweep", out, "--measure", "test_distance", "--json", "--quiet", "--jobs", "1")
    assert json.loads(again.stdout)["ran"] == {}
    refused = recover("sweep", out, "--measure", "recovered", "--quiet")
    assert refused.exit_code == 2
    assert "not measured on demand; allowed: absolute_distance" in refused.output


def test_a_report_or_a_claim_measures_its_value_in_every_trial(tmp_path: Path) -> None:
    """The ids of the trials are those without it, and `check` says so."""
    config = tmp_path / "small.yaml"
    config.write_text(CONFIG + 'claims: [{kind: binomial, of: "max_deviation<=0.5", probability: 0.5, source: ours}]\n')
    plain = recovery.load(CONFIG)
    sweep = recovery.load(config)
    assert [cell.id for cell in sweep.cells] == [cell.id for cell in plain.cells]
    assert "max_deviation" in recover("check", config).output
    assert "max_deviation" not in recover("check", brief_of(tmp_path)).output
    rows = recovery.run(sweep, tmp_path / "out", quiet=True, jobs=1).frame
    assert rows["max_deviation"].notna().all()


@pytest.mark.parametrize("value", ["absolute_distance", "absolute_distance<=1e-3"])
@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
@pytest.mark.parametrize("share", [0.1, 0.4, 1.0])
def test_a_comparison_allows_for_every_value_that_one_side_lacks(
    value: str, seeds: tuple[int, int], share: float
) -> None:
    """Failures of one side that hide their values with a probability: no interval and no test gets sharper."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        first, second = (wendel_rows(n=[15, 25], d=[10], replicates=12, seed=10 * seed + i) for i in (0, 1))
        hidden = second.copy()
        lost = ~hidden["recovered"].to_numpy(bool) & (rng.random(len(hidden)) < share)
        hidden.loc[lost, "absolute_distance"] = np.nan
        grids = [grid(rows, seed=s, name=name) for rows, s, name in zip((first, second), seeds, "ab", strict=True)]
        whole, partly = (
            compare_grids(grids, value=value),
            compare_grids([grids[0], grid(hidden, seed=seeds[1], name="c")], value=value),
        )
        for full, part in zip(whole.table.to_dict("records"), partly.table.to_dict("records"), strict=True):
            if lost.any() and not np.isnan(full["low"]):
                assert part["low"] <= full["low"] + 1e-9
                assert part["high"] >= full["high"] - 1e-9
                assert part["p"] >= full["p"] - 1e-9
        if lost.any():
            assert f"({0:g} in a and {lost.sum()} in c)" in partly.sentence


def brief_of(folder: Path) -> Path:
    (folder / "brief.yaml").write_text(CONFIG)
    return folder / "brief.yaml"
