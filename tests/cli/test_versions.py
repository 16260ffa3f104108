"""A results folder that an earlier version of the program wrote is read, grown, verified, merged and compacted."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.provenance import checkout, running_version, version_in
from tests.cli.test_stored import edited
from tests.invoke import recover, said

EARLIER = Path(__file__).with_name("made_by_c9631fe")
"""Two grid cells of two trials, swept by `recover` at this commit, which states no version in its rows."""
ITS_VERSION = "0.2.0+c9631fe"
THREADS = ("--backend", "threading", "--quiet")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER, tmp_path / "out"))


def grow(out: Path) -> None:
    """Add two trials to each grid cell."""
    done = said("sweep", EARLIER / "config.yaml", "--set", "replicates=4", "--out", out, *THREADS)
    assert "8 of 8 trials stored (4 run now)" in done


def both() -> str:
    counts = sorted({ITS_VERSION: 4, running_version(): 4}.items())
    return ", ".join(f"{count} by {version}" for version, count in counts)


def test_it_is_read_and_verified(out: Path) -> None:
    assert dict(read(out).versions) == {ITS_VERSION: 4}
    assert "4 of 4 trials stored, 0 missing" in recover("status", out).stdout
    done = recover("verify", out)
    assert "4 of 4 rows replayed" in done.stdout
    assert "0 different" in done.stdout


def test_the_versions_of_a_grown_folder_are_shown(out: Path) -> None:
    before = read(out).frame.set_index("trial_id")
    grow(out)
    for _ in range(2):
        grid = read(out)
        assert dict(grid.versions) == {ITS_VERSION: 4, running_version(): 4}
        after = grid.frame.set_index("trial_id")
        assert set(after.index[after["made_by"] == ITS_VERSION]) == set(before.index)
        assert after.loc[before.index, before.columns].equals(before)
        assert json.loads(recover("status", out, "--json").stdout)["versions"].startswith("rows by version")
        for command in (["status"], ["report", "--format", "csv"], ["verify", "--sample", "8"]):
            done = recover(command[0], out, *command[1:])
            assert done.exit_code == 0, done.output
            assert f"rows by version of the program: {both()}; this is {running_version()}" in done.output
        compact(Folder(out))


def test_columns_that_the_version_of_a_row_did_not_measure_are_not_compared(out: Path) -> None:
    edited(out, "patterns_proved", lambda values: [None] * len(values))
    grow(out)
    done = said("verify", out, "--sample", "8")
    assert "0 different" in done
    assert "not compared, because the version that made the rows did not measure them: patterns_proved" in done


def test_a_value_that_only_one_row_of_a_version_lacks_is_compared(out: Path) -> None:
    edited(out, "patterns_proved", lambda values: [None, *values[1:]])
    assert "differs in patterns_proved: stored None" in recover("verify", out).stdout


def test_it_is_merged_with_rows_of_this_version(out: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    said("sweep", EARLIER / "config.yaml", "--set", "replicates=4", "--out", new, *THREADS)
    done = recover("merge", out, new, "--out", tmp_path / "merged")
    assert done.exit_code == 0, done.output
    assert "8 of 8 trials stored, 0 missing" in done.stdout
    assert "differ from the stored rows" not in done.stderr
    assert dict(read(tmp_path / "merged").versions) == {ITS_VERSION: 4, running_version(): 4}


def test_a_version_is_named_by_its_commit() -> None:
    assert version_in({"version": "1.2.3"}) == "1.2.3"
    assert version_in({"version": "1.2.3", "commit": "0123456789", "dirty": False}) == "1.2.3+0123456"
    assert version_in({"version": "1.2.3", "commit": "0123456789", "dirty": True}) == "1.2.3+0123456.changed"


def test_only_changed_code_makes_a_changed_version(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    for name in ("recovery", "cli", "results"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("1")
    assert checkout(tmp_path) == {}
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "results" / "file").write_text("2")
    assert checkout(tmp_path)["dirty"] is False
    (tmp_path / "recovery" / "file").write_text("2")
    assert checkout(tmp_path)["dirty"] is True
