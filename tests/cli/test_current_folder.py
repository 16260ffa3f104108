"""The current folder may be someone else's results folder: no command runs or reads what it was not given there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recovery.store import read
from tests.cli.test_commands import RUNS, in_place
from tests.runner.sweeps import sweep, write_config

MODULES = ("random", "secrets", "fractions", "yaml", "numpy", "click", "matplotlib", "numba", "sitecustomize")
SETTINGS = {".numba_config.yaml": "cache_dir: cache_of_numba\n", "matplotlibrc": "text.usetex: True\n"}
SETTINGS |= {"setup.cfg": "", "pyproject.toml": ""}
SEEN = """
import os, sys
def seen(event, arguments, here=os.path.realpath({here!r}), baits={baits!r}):
    if event == "open" and isinstance(arguments[0], str):
        folder, name = os.path.split(os.path.join(os.getcwd(), arguments[0]))
        if name in baits and os.path.realpath(folder) == here:
            os.write(os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), (name + "\\n").encode())
sys.addaudithook(seen)
"""
"""Python imports this module first in each process. It logs each bait that is opened."""
CALLS = {name: call for name, (call, _) in RUNS.items()}
CALLS |= {"sweep": ["CONFIG", "--out", "OUT/out", "--backend", "threading"]}
CALLS |= {"verify": ["GRID", "--rigorous", "--sample", "4"]}
OTHER_CALLS = [
    ["verify", "GRID"],
    ["report", "GRID", "--out", "OUT/x.pdf"],
    ["report", "GRID", "--format", "html", "--out", "OUT/x.html"],
    ["sweep", "CONFIG", "--out", "OUT/out"],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with its config, and with baits."""
    folder = tmp_path_factory.mktemp("made")
    axes = {"n": [4, 8], "d": [2]}
    config = write_config(folder, method={"kind": "min_norm"}, architecture="relu_skip", axes=axes, replicates=2)
    sweep(config, folder / "here")
    shutil.copy(config, folder / "here")
    for name in MODULES:
        (folder / "here" / f"{name}.py").write_text("raise SystemExit('a module of the current folder ran')\n")
    for name, text in SETTINGS.items():
        (folder / "here" / name).write_text(text)
    return folder / "here"


@pytest.mark.deep
@pytest.mark.parametrize("call", [*([name, *rest] for name, rest in CALLS.items()), *OTHER_CALLS], ids=" ".join)
def test_nothing_in_the_current_folder_is_run_and_nothing_outside_is_written(
    made: Path, tmp_path: Path, call: list[str]
) -> None:
    here, outside, log = tmp_path / "here", tmp_path / "outside", tmp_path / "log"
    shutil.copytree(made, here)
    (outside / "given").mkdir(parents=True)
    (outside / "fake-recovered.png").write_text("mine")
    (here / "report").symlink_to(outside)
    watch = tmp_path / "watch"
    watch.mkdir()
    baits = {*(f"{name}.py" for name in MODULES), *SETTINGS}
    (watch / "sitecustomize.py").write_text(SEEN.format(here=str(here), baits=baits, log=str(log)))
    trial = read(here).table["trial_id"][0].as_py()
    words = in_place(call, {"GRID": ".", "CONFIG": "fake.yaml", "OUT": str(tmp_path), "TRIAL": trial})
    environment = {**os.environ, "PYTHONPATH": str(watch)}
    command = [sys.executable, "-m", "recovery.cli", *words]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)
    refused = call == ["report", "GRID"]
    assert done.returncode == (2 if refused else 0), done.stdout + done.stderr
    assert ("symbolic link" in done.stderr) == refused
    assert "a module of the current folder ran" not in done.stdout + done.stderr
    assert not log.exists(), log.read_text()
    assert not (here / "cache_of_numba").exists()
    assert (outside / "fake-recovered.png").read_text() == "mine"
    assert {path.name for path in outside.iterdir()} == {"fake-recovered.png", "given"}
