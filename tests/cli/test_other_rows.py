"""Rows that are not the sweep's are named and left out, whoever put them there; all commands count alike."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.parts import list_parts
from tests.invoke import recover
from tests.runner.sweeps import sweep, write_config

ISOMETRY: dict[str, Any] = {"method": {"kind": "isometry"}, "architecture": "relu_skip"}


@pytest.fixture(params=["program", "own"])
def mixed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The results of a sweep of 24 trials, and 24 rows of the same with another seed among them."""
    fields = ISOMETRY if request.param == "program" else {}
    out = tmp_path / "out"
    sweep(write_config(tmp_path, **fields), out)
    sweep(write_config(tmp_path, **fields, seed=8), tmp_path / "other")
    for part in list_parts(tmp_path / "other" / "trials"):
        shutil.copy(part, out / "trials")
    return out


def test_rows_of_another_seed_do_not_count(mixed: Path) -> None:
    grid = read(mixed)
    assert len(grid.table) == 24
    assert grid.left_out is not None
    assert grid.left_out.rows == 24
    result = recover("status", mixed)
    assert "24 of 24 trials stored, 0 missing" in result.stdout
    assert "24 rows of another sweep" in result.stdout
    counts = json.loads(recover("status", mixed, "--json").stdout)
    assert (counts["stored"], counts["missing"]) == (24, 0)
    assert "24 rows of another sweep" in counts["left_out"]


def test_reports_and_verification_name_what_they_leave_out(mixed: Path) -> None:
    result = recover("report", mixed, "--format", "json")
    assert result.exit_code == 0, result.output
    assert "24 rows of another sweep" in result.stderr
    result = recover("verify", mixed, "--sample", 2, "--trust")
    assert result.exit_code == 1
    assert "24 rows of another sweep" in result.stdout
    assert "2 of 24 rows replayed" in result.stdout


def test_a_folder_that_grew_keeps_its_rows_and_more_replicates_than_planned_do_not_count(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(write_config(tmp_path, **ISOMETRY), out)
    sweep(write_config(tmp_path, **ISOMETRY, replicates=6), out)
    assert len(read(out).table) == 36
    assert not read(out).left_out
    few = tmp_path / "few"
    sweep(write_config(tmp_path, **ISOMETRY), few)
    for part in list_parts(out / "trials"):
        shutil.copy(part, few / "trials")
    assert len(read(few).table) == 24
    assert (left_out := read(few).left_out) is not None
    assert left_out.rows == 12
    compact(Folder(few))
    assert len(read(few).table) == 24
    assert (left_out := read(few).left_out) is not None
    assert left_out.rows == 12


def test_a_lost_record_is_missing_for_all_commands(tmp_path: Path) -> None:
    out = tmp_path / "out"
    config = write_config(tmp_path, method={"act": "transition", "record": True})
    sweep(config, out)
    for part in list_parts(out / "trajectories"):
        part.unlink()
    assert "0 of 24 trials stored, 24 missing" in recover("status", out).stdout
    assert "24 trials, 0 stored, 24 to run" in recover("sweep", config, "--out", out, "--dry-run").stdout
