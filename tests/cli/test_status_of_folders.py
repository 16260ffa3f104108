"""`recover status` of a folder with several sweeps: a line for each."""

import json
import shutil
from pathlib import Path

import pytest

from recovery.cli.status import several_text
from recovery.store import read
from tests.config.sweeps import write
from tests.invoke import recover, refused, said


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole sweep, half of one in a folder below with an odd name, one without rows, and one that is damaged."""
    base = tmp_path_factory.mktemp("many") / "results"
    base.mkdir()
    config = write(base.parent / "c.yaml", replicates=4, seed=0, axes={"n": [4, 6, 8, 12], "d": [2, 3]})
    for options in (["whole"], ["below/<b>&'\" half", "--shard", "1/2"]):
        said("sweep", config, "--out", base / options[0], *options[1:], "--backend", "threading", "-j", 1, "-q")
    shutil.copytree(base / "whole", base / "empty", ignore=shutil.ignore_patterns("*.parquet"))
    (base / "damaged").mkdir()
    (base / "damaged" / "sweep.json").write_text("{")
    (base / "not a sweep").mkdir()
    (base / "linked").symlink_to(base / "whole")
    return base


def test_status_of_a_folder_has_a_line_a_sweep(many: Path) -> None:
    done = said("status", many)
    whole = next(line for line in done.splitlines() if line.startswith("whole"))
    assert whole.split()[1:3] == ["32", "32"]
    half = next(line for line in done.splitlines() if line.startswith("below/"))
    stored = len(read(many / "below" / "<b>&'\" half").table)
    assert 0 < stored < 32
    assert half.split("half")[1].split()[:2] == [str(stored), "32"]
    assert "damaged/sweep.json: " in done
    assert done.splitlines()[-1] == f"4 sweeps: {32 + stored} of 96 trials stored"
    documents = json.loads(recover("status", many, "--json").stdout)
    found = {Path(one["path"]).name: one for one in documents}
    assert found["whole"]["missing"] == 0
    assert found["empty"]["stored"] == 0
    assert "sweep.json" in found["damaged"]["error"]
    assert "linked" not in found


def test_a_folder_without_sweeps_is_refused(many: Path) -> None:
    for folder in ("nowhere", "not a sweep"):
        assert "run `recover sweep` first" in refused("status", many / folder)


def test_the_table_fits_a_narrow_terminal(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = many / "a sweep whose name is longer than the terminal is wide"
    shutil.copytree(many / "whole", long)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    table = [line for line in several_text(many, False).splitlines() if "sweep.json" not in line]
    shutil.rmtree(long)
    assert max(map(len, table)) <= 60
