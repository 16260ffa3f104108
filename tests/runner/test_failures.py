"""Failures alike: shown with their traceback at once, and not repeated to the end."""

import subprocess
import sys
from pathlib import Path

import pytest

from recovery.report.diagram import Diagram
from recovery.runner.run import MOST_EQUAL
from recovery.store import read
from tests.invoke import recover
from tests.own_method import write_method
from tests.runner.sweeps import rows, sweep, write_config


def test_equal_failures_stop_the_sweep(tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"act": "raise"}, replicates=20), tmp_path / "out"
    result = recover("sweep", config, "--out", out, "-j", 1)
    assert result.exit_code == 1
    said = f"stopped: {MOST_EQUAL} trials of fake_methods:Fake failed alike and none was measured (ArithmeticError"
    assert said in result.stderr
    assert MOST_EQUAL <= len(rows(out)) < 120
    while (summary := sweep(config, out)).gave_up:
        pass
    assert summary.stored == {"failed": 120}


def test_a_method_that_measured_something_goes_on(tmp_path: Path) -> None:
    axes = {"n": [4], "d": [2], "method.act": ["measure", "raise"]}
    config = write_config(tmp_path, axes=axes, replicates=MOST_EQUAL + 1)
    assert sweep(config, tmp_path / "out").stored == {"ok": MOST_EQUAL + 1, "failed": MOST_EQUAL + 1}


def test_the_first_failure_of_own_code_is_shown_and_replayed(tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"act": "raise"}), tmp_path / "out"
    said = recover("sweep", config, "--out", out, "-j", 1).stderr
    assert said.count("failed: ArithmeticError: no luck with n = 4") == 1
    assert 'raise ArithmeticError(f"no luck' in said
    assert said.index("raise Arith") < said.index("24 of 24 trials")
    assert "raise Arith" not in recover("sweep", config, "--out", tmp_path / "quiet", "-j", 1, "-q").stderr
    where = next(line for line in recover("status", out).stdout.splitlines() if "where: recover" in line)
    assert "--traceback --trust" in where
    again = recover(*where.split()[2:])
    assert again.exit_code == 0
    assert 'raise ArithmeticError(f"no luck' in again.stdout
    command = [sys.executable, "-m", "recovery.cli", *where.split()[2:], "--debug"]
    debugged = subprocess.run(command, input="p instance.setting.n\nq\n", capture_output=True, text=True, check=True)
    assert "(Pdb) 8\n" in debugged.stdout
    assert "ArithmeticError: no luck" in debugged.stderr


def test_failures_that_differ_in_a_number_only_are_one(tmp_path: Path) -> None:
    config, out = write_config(tmp_path, method={"act": "raise"}), tmp_path / "out"
    recover("sweep", config, "--out", out, "-j", 1)
    lines = recover("status", out).stdout.splitlines()
    (line,) = [line for line in lines if " x " in line]
    assert line.startswith("  24 x ArithmeticError: no luck with ")
    assert " (or other numbers)  (trial " in line


@pytest.mark.parametrize("name", ["First", "Second"])
def test_each_choice_of_own_code_is_tried_first_where_it_is_cheapest(tmp_path: Path, name: str) -> None:
    for other in ("First", "Second"):
        body = "raise KeyError('no')" if other == name else "return {}"
        cost = "def cost(self, n, d):\n    return n * d"
        write_method(tmp_path / f"own_{other.lower()}.py", body, name=other, cost=cost)
    method = [{"kind": "own_first:First"}, {"kind": "own_second:Second"}]
    config = write_config(tmp_path, axes={"n": [4, 40], "d": [2], "method": method}, replicates=500)
    result = recover("sweep", config, "--out", tmp_path / "out", "-j", 1)
    assert result.exit_code == 1
    frame = read(tmp_path / "out").frame
    assert frame[frame["status"] == "failed"]["n"].min() == 4
    assert "raise KeyError('no')" in result.stderr
    assert len(frame) < 2000


def test_a_number_that_is_not_finite_drops_itself_alone(tmp_path: Path) -> None:
    """Its trial has finished: the sweep succeeds, --rerun leaves it, a replay agrees, and the value is unknown."""
    body = "return {'gap': math.inf if instance.setting.n > 5 else 0.5, 'iterations': 7, 'recovered': True}"
    kind = write_method(tmp_path / "own_loss.py", body, "gap", "iterations", "recovered", head="import math")
    config, out = write_config(tmp_path, method={"kind": kind}), tmp_path / "out"
    for options in ((), ("--rerun", "failed")):
        result = recover("sweep", config, "--out", out, "-j", 1, *options)
        assert (result.exit_code, "16 diverged" in result.stdout) == (0, True)
        assert "why trials failed" not in result.stderr
    assert "(0 run now)" in result.stdout
    frame = read(out).frame
    assert set(zip(frame["n"] > 5, frame["status"], strict=True)) == {(True, "diverged"), (False, "ok")}
    assert set(frame["gap"].dropna()) == {0.5}
    assert set(frame["iterations"]) == {7}
    lost = frame[frame["status"] == "diverged"]
    assert set(lost["unmeasured"]) == {'{"gap":"inf is not finite"}'}
    assert "equal to its stored row" in recover("replay", out, lost["trial_id"].iloc[0], "--trust").stdout
    table = Diagram.of(read(out), "gap<=1").table
    assert (table["failed"].sum(), table["yes"].sum(), table["unmeasured"].sum()) == (0, 8, 16)
    assert "24 finished, recovered: 24 of 24" in recover("report", out, "--format", "terminal").stdout
    assert '"errors": []' in recover("status", out, "--json").stdout
