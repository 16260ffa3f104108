"""A config whose trials are a part of the trials of a folder runs, and leaves the folder's sweep as it is."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from recovery.cli.main import main
from recovery.config import load
from recovery.errors import StoreError
from recovery.runner.plan import plan
from recovery.store import read

from .sweeps import rows, sweep, write_config

AXES = {"n": [4, 8, 12, 16], "d": [2, 3]}


def grown_folder(tmp_path: Path) -> Path:
    """Return the folder of a sweep of 48 trials, of which 24 are stored."""
    sweep(write_config(tmp_path), tmp_path / "out")
    sweep(write_config(tmp_path, axes=AXES, replicates=6), tmp_path / "out", shard=(1, 10**6))
    return tmp_path / "out"


def test_a_smaller_config_runs_its_missing_trials_and_changes_nothing_else(tmp_path: Path) -> None:
    out = grown_folder(tmp_path)
    before = (out / "sweep.json").read_bytes()
    config = write_config(tmp_path, replicates=5)
    summary = sweep(config, out)
    assert (summary.planned, sum(summary.ran.values()), summary.stopped) == (30, 6, None)
    assert (out / "sweep.json").read_bytes() == before
    sweep(config, tmp_path / "plain")
    pd.testing.assert_frame_equal(rows(out).loc[rows(tmp_path / "plain").index], rows(tmp_path / "plain"))
    (out / "sweep.json").unlink()  # is rebuilt from the latest part, which the smaller config wrote
    assert read(out).sweep["trials"] == 48
    assert not read(out).left_out


def test_the_command_names_the_larger_sweep(tmp_path: Path) -> None:
    out = grown_folder(tmp_path)
    config = write_config(tmp_path, replicates=5)
    result = CliRunner().invoke(main, ["sweep", str(config), "--out", str(out)])
    assert result.exit_code == 0
    assert f"{out} holds a larger sweep of 48 trials" in result.stderr
    assert "30 of 30 trials stored (6 run now)" in result.stdout


def test_a_config_without_the_stored_labels_says_that_it_drops_them(tmp_path: Path) -> None:
    """A folder has the report of the config that ran last: a change of it needs no trial."""
    config, out = str(write_config(tmp_path)), str(tmp_path / "out")

    def run(*options: str) -> str:
        result = CliRunner().invoke(main, ["sweep", config, "--out", out, *options])
        assert result.exit_code == 0, result.output
        return result.stderr

    labelled = ["--set", "report.labels={n: samples}"]
    assert "dropped" not in run(*labelled)
    assert "dropped" not in run(*labelled)
    assert f"{out} stores report.labels; this config does not have it, so it is dropped" in run("--dry-run")
    assert read(Path(out)).sweep["config"]["report"]["labels"] == {"n": "samples"}
    assert "stores report.labels" in run()
    assert "labels" not in read(Path(out)).sweep["config"].get("report", {})
    assert "dropped" not in run()


def test_a_config_that_adds_some_trials_and_lacks_others_is_refused(tmp_path: Path) -> None:
    out = grown_folder(tmp_path)
    with pytest.raises(StoreError, match=r"32 of its 48 trials are not in this one"):
        plan(load(write_config(tmp_path, axes={"n": [4, 8, 20], "d": [2, 3]})), out)


def test_a_smaller_config_continues_beside_user_code_that_it_does_not_name(tmp_path: Path) -> None:
    small = {"axes": {"method": [{"kind": "fake_methods:Fake"}], "n": [4, 8]}, "d": 2}
    config, out = write_config(tmp_path, **small), tmp_path / "out"
    sweep(config, out, shard=(1, 2))
    old = config.rename(tmp_path / "old.yaml")
    shutil.copy(tmp_path / "fake_methods.py", tmp_path / "more_methods.py")
    methods = [{"kind": "fake_methods:Fake"}, {"kind": "more_methods:Fake"}]
    sweep(write_config(tmp_path, **{**small, "axes": {"method": methods, "n": [4, 8]}}), out, shard=(2, 2))
    stored = len(rows(out))
    with (tmp_path / "more_methods.py").open("a") as file:
        file.write("CHANGED = True\n")
    summary = sweep(old, out, rerun_changed=True)  # takes out no row of the other module
    assert summary.stored == {"ok": 8}
    assert len(rows(out)) == stored + sum(summary.ran.values())
    assert read(out).sweep["trials"] == 16
    assert not list(out.glob("changed-*"))


def test_the_same_command_without_its_rule_says_how_the_larger_sweep_continues(tmp_path: Path) -> None:
    config = write_config(tmp_path, method={"act": "transition"}, axes={"n": [2, 4, 6, 8], "d": [2, 3]})
    until = ["sweep", str(config), "--out", str(tmp_path / "out"), "--quiet"]
    CliRunner().invoke(main, [*until, "--until", "threshold +-0.4", "--set", "report={value: recovered}"])
    result = CliRunner().invoke(main, [*until, "--set", "report={value: recovered}"])
    assert result.exit_code == 0
    assert "--until 'threshold +-0.4' continues the larger sweep" in result.stderr
