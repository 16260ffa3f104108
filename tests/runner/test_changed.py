"""Rows store a hash of the user code that they ran; rows of changed code are reported, and run again on request."""

from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.parts import list_parts, write_part
from recovery.user import fingerprint, resolve, user_names
from tests.invoke import recover
from tests.runner.sweeps import rows, sweep, write_config

RIDGE = """
from dataclasses import dataclass
from own_helpers import shift
from recovery.methods.columns import select

@dataclass(frozen=True)
class Ridge:
    columns = select("gap", "iterations")

    def cost(self, n, d):
        return 1.0

    def __call__(self, instance, architecture):
        return {"gap": shift(instance.setting.n)}
"""
HELPERS = "def shift(n):\n    return n + {by}\n"
"""Edits change the length, because Python compares bytecode with the source by time in seconds and by length."""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_ridge.py").write_text(RIDGE)
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
    assert "8 stored rows are stale: the user code has changed since; --rerun-changed" in said.stderr
    dry = recover("sweep", config, "--out", out, "--rerun-changed", "--dry-run")
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
    again = recover("sweep", config, "--out", out, "-j", 1, "--rerun-changed")
    assert (again.exit_code, "(8 run now)" in again.stdout, "stale" in again.stderr) == (0, True, False)
    after = rows(out)
    own = after["method"] == "own_ridge:Ridge"
    assert (after.loc[own, "gap"] == after.loc[own, "n"] + 20).all()
    pd.testing.assert_frame_equal(after[~own], before[~own])
    moved = pd.read_parquet(out / "changed-trials").set_index("trial_id").sort_index()
    assert (moved["gap"] == moved["n"] + 1).all()
    assert len(read(out).table) == 16
    assert "(0 run now)" in recover("sweep", config, "--out", out, "--rerun-changed").stdout


def test_records_of_other_code_go_with_their_rows(tmp_path: Path, config: Path) -> None:
    text = RIDGE.replace('return {"gap"', 'm = Measurement({"gap"').replace("n)}", "n)})")
    text += "        m.trajectory = {'loss': [float(shift(0))]}\n        return m\n"
    (tmp_path / "own_ridge.py").write_text("from recovery.methods.method import Measurement\n" + text)
    out = tmp_path / "out"
    sweep(config, out)
    (tmp_path / "own_helpers.py").write_text(HELPERS.format(by=50))
    sweep(config, out, rerun_changed=True)
    losses = pd.read_parquet(out / "trials")["record.loss"].dropna().explode()
    assert losses.tolist() == [50.0] * 8


APART = [
    "\ndef other(x):\n    return shift(x)\n",
    "\n@dataclass(frozen=True)\nclass Other:\n    columns = select('gap')\n",
    "\nclass Other:\n    @property\n    def a(self):\n        return 1\n",
    "\n# a comment\n",
]
NOT_APART = [
    "\ndef shift(n):\n    return 2 * n\n",
    "\nprint('imported')\n",
    "\ndef other():\n    return globals()\n",
    "\ndef other():\n    return getattr(Ridge, 'cost')\n",
    "\ndef other():\n    exec('1')\n",
    "\nfrom math import *\n",
    "\nimport own_unused\n",
    "\nselect = 3\n",
    "\nclass Other(Ridge):\n    pass\n",
    "\nclass Other:\n    Ridge.cost = None\n",
    "\nclass Other:\n    global shift\n    shift = None\n",
    "\ndef other(x=setattr):\n    pass\n",
    "\ndef other(x=shift(1)):\n    pass\n",
    "\ndef other(x=(shift := None)):\n    pass\n",
    "\ndef other(x: shift(1)):\n    pass\n",
    "\n@shift\ndef other():\n    pass\n",
    "\n@(lambda f: f)\ndef other():\n    pass\n",
    "\nfor i in range(2):\n    pass\n",
    "\nRidge.cost = 1\n",
    "\nx = 1; y = 2\n",
]


@pytest.mark.parametrize(("text", "stale"), [*((text, 0) for text in APART), *((text, 8) for text in NOT_APART)])
def test_definitions_that_nothing_depends_on_are_left_out(tmp_path: Path, config: Path, text: str, stale: int) -> None:
    """Python need not be able to run the edit: nothing imports it."""
    sweep(config, tmp_path / "out")
    path = tmp_path / "own_ridge.py"
    path.write_text(path.read_text() + text)
    said = recover("status", tmp_path / "out").output
    assert (f"{stale} stored rows are stale" if stale else "0 missing\n") in said
    assert stale or "stale" not in said


def test_a_hash_of_the_whole_module_is_accepted(tmp_path: Path, config: Path) -> None:
    """Rows of version 0.2.0 have one."""
    out = tmp_path / "out"
    sweep(config, out)
    whole = fingerprint(["own_ridge:Ridge"])[1]
    assert whole not in read(out).frame["own_code"].tolist()
    for part in list_parts(out / "trials"):
        table = pq.read_table(part)
        codes = pc.if_else(pc.is_valid(table["own_code"]), whole, table["own_code"])
        part.unlink()
        write_part(part.parent, table.set_column(table.column_names.index("own_code"), "own_code", codes))
    assert "stale" not in recover("status", out).output
    assert "stale" not in recover("sweep", config, "--out", out).output
    with (tmp_path / "own_ridge.py").open("a") as file:
        file.write(APART[0])
    assert "8 stored rows are stale" in recover("status", out).output


def test_what_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "own_package"
    (package / "deep").mkdir(parents=True)
    files = {
        package / "__init__.py": "",
        package / "main.py": "from . import near\nfrom .deep.far import *\ndef f():\n    import own_late\n",
        package / "near.py": "import numpy\nimport recovery.user\n",
        package / "deep" / "far.py": "from .. import main\n",
        tmp_path / "own_late.py": "",
        tmp_path / "own_unused.py": "",
    }
    for path, text in files.items():
        path.write_text(text)
    resolve("own_package.main:f")
    names = set(user_names({"data": {"ensemble": "own_package.main:f"}, "method": [{"kind": "isometry"}]}))
    assert names == {"own_package.main:f"}
    seen = fingerprint(names)
    changes = {}
    for path, text in files.items():
        path.write_text(text + "# edited\n")
        changes[path.name] = fingerprint(names)[1] != seen[1]
        path.write_text(text)
    assert changes == {name.name: name.name != "own_unused.py" for name in files}
    (package / "near.py").write_text("no python (\n")
    assert fingerprint(names)[1] != seen[1]
