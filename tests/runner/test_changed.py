"""Rows store a hash of the user code that they ran; rows of changed code are reported, and run again on request."""

import re
from pathlib import Path

import pandas as pd
import pytest

import recovery
from recovery.errors import StoreError
from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from tests.invoke import recover, refused
from tests.own_method import write_method
from tests.runner.sweeps import rows, sweep, write_config

HELPERS = "def shift(n):\n    return n + {by}\n"
"""Edits change the length, because Python compares bytecode with the source by time in seconds and by length."""


def write_ridge(folder: Path, call: str = "return {'gap': shift(instance.setting.n)}") -> None:
    head = "from own_helpers import shift"
    write_method(folder / "own_ridge.py", call, "gap", "iterations", name="Ridge", head=head)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    write_ridge(tmp_path)
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=1))
    for name in ("own_ridge", "own_helpers"):
        monkeypatch.delitem(__import__("sys").modules, name, raising=False)
    method = [{"kind": "own_ridge:Ridge"}, {"kind": "isometry"}]
    return write_config(tmp_path, method=None, architecture="relu_skip", axes={"n": [4, 8], "d": [2], "method": method})


def test_an_edited_helper_is_said_and_its_trials_run_again(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "out"
    assert recover("sweep", config, "--out", out, "-j", 1).stderr.count("stale") == 0
    before = rows(out)
    codes = before.groupby("method")["own_code"].nunique(dropna=True).to_dict()
    assert codes == {"isometry": 0, "own_ridge:Ridge": 1}
    assert "(0 run now)" in recover("sweep", config, "--out", out).stdout
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=20))
    compact(Folder(out))
    said = recover("sweep", config, "--out", out, "-j", 1)
    assert "(0 run now)" in said.stdout
    assert "8 stored rows are stale: the user code has changed since; --rerun changed" in said.stderr
    dry = recover("sweep", config, "--out", out, "--rerun", "changed", "--dry-run")
    assert "8 to run" in dry.stdout
    assert "stale" in recover("sweep", config, "--out", out, "--dry-run").stderr
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=20) + "raise SystemExit('imported')\n")
    said = "8 stored rows are stale"
    for command in (["status", out], ["report", out, "--format", "terminal"]):
        result = recover(*command)
        assert (result.exit_code, said in result.output) == (0, True), result.output
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=1))
    assert "stale" not in recover("status", out).output
    (tmp_path / "own_ridge.py").rename(tmp_path / "away.py")
    assert (
        "the user code cannot be compared with the code of the stored rows: no file of" in recover("status", out).output
    )
    (tmp_path / "away.py").rename(tmp_path / "own_ridge.py")
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=20))
    again = recover("sweep", config, "--out", out, "-j", 1, "--rerun", "changed")
    assert (again.exit_code, "(8 run now)" in again.stdout, "stale" in again.stderr) == (0, True, False)
    after = rows(out)
    own = after["method"] == "own_ridge:Ridge"
    assert (after.loc[own, "gap"] == after.loc[own, "n"] + 20).all()
    pd.testing.assert_frame_equal(after[~own], before[~own])
    moved = pd.read_parquet(out / "changed-trials").set_index("trial_id").sort_index()
    assert (moved["gap"] == moved["n"] + 1).all()
    assert len(read(out).table) == 16
    assert "(0 run now)" in recover("sweep", config, "--out", out, "--rerun", "changed").stdout


def test_records_of_other_code_go_with_their_rows(tmp_path: Path, config: Path) -> None:
    write_ridge(tmp_path, "return Measurement(gap=1.0).recording({'loss': np.array([float(shift(0))])})")
    out = tmp_path / "out"
    sweep(config, out)
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=50))
    sweep(config, out, rerun=("changed",))
    losses = pd.read_parquet(out / "trials")["record.loss"].dropna().explode()
    assert losses.tolist() == [50.0] * 8


def test_a_sweep_that_grows_mixes_no_rows_of_two_versions(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "out"
    sweep(config, out, shard=(1, 2))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=20))
    said = refused("sweep", config, "--out", out, "-j", 1)
    assert re.search(r"\d stored rows ran user code that has changed since", said)
    assert "--rerun changed runs their trials again, --keep-changed keeps both" in said
    with pytest.raises(StoreError, match="user code that has changed"):
        recovery.run(config, out, jobs=1)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert "several versions" not in recover("report", out, "--format", "terminal").stdout
    assert recover("sweep", config, "--out", out, "-j", 1, "--keep-changed").exit_code == 0
    assert rows(out).groupby("method")["own_code"].nunique().to_dict() == {"isometry": 0, "own_ridge:Ridge": 2}
    assert "(0 run now)" in recover("sweep", config, "--out", out).stdout  # there is nothing to add: a warning
    shown = recover("report", out, "--format", "terminal").stdout.splitlines()[0]
    assert shown.endswith("(rows of several versions of own_ridge:Ridge)")
    recover("sweep", config, "--out", out, "-j", 1, "--rerun", "changed")
    assert "several versions" not in recover("report", out, "--format", "terminal").stdout


def test_two_methods_of_a_users_are_no_two_versions(tmp_path: Path, config: Path) -> None:
    write_method(tmp_path / "own_other.py", "return {'gap': 1.0}", "gap", name="Other")
    methods = [{"kind": name} for name in ("own_ridge:Ridge", "own_other:Other")]
    config = write_config(tmp_path, method=None, axes={"n": [4, 8], "d": [2], "method": methods})
    sweep(config, tmp_path / "out")
    assert rows(tmp_path / "out")["own_code"].nunique() == 2
    assert "several versions" not in recover("report", tmp_path / "out", "--format", "terminal").stdout
