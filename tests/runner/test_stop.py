import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recovery.runner.stop import Stop, StopRequested

from .kills import ended, start, started
from .sweeps import write_config


def test_a_signal_between_waits_stops_at_the_next() -> None:
    with Stop() as stop:
        rows = iter([1, 2])
        assert stop.wait(rows) == 1
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(StopRequested, match="SIGTERM"):
            stop.wait(rows)
        assert list(rows) == [2]


def test_a_signal_while_held_stops_at_the_end() -> None:
    reached = []

    def load(stop: Stop) -> None:
        with stop.held():
            signal.raise_signal(signal.SIGTERM)
            reached.append(True)

    with Stop() as stop, pytest.raises(StopRequested, match="SIGTERM"):
        load(stop)
    assert reached


@pytest.mark.parametrize(
    "milliseconds", [300, *(pytest.param(time, marks=pytest.mark.deep) for time in (1, 150, 600, 1000))]
)
def test_a_time_budget_that_ends_while_modules_load_is_75(tmp_path: Path, milliseconds: int) -> None:
    config = write_config(tmp_path, method={"seconds": 1.0})
    process = start(config, "--out", tmp_path / "out", "--jobs", 1, "--max-time", milliseconds / 1000)
    stderr = ended(process, 75)
    assert "Traceback" not in stderr


def test_handlers_are_as_they_were_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop(60.0):
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_second_interrupt_ends_at_once() -> None:
    code = """
import signal
from recovery.runner.stop import Stop
with Stop() as stop:
    stop.wait(iter([1]))
    signal.raise_signal(signal.SIGINT)
    print("stored", flush=True)
    signal.raise_signal(signal.SIGINT)
    print("not reached")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (75, "stored\n")


OTHERS = (signal.SIGINT, signal.SIGUSR1, signal.SIGHUP)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(number, marks=pytest.mark.deep) for number in OTHERS)]
)
def test_a_signal_before_the_first_row_is_75(tmp_path: Path, number: signal.Signals) -> None:
    config = write_config(tmp_path, method={"seconds": 1.0})
    process = start(config, "--out", tmp_path / "out", "--jobs", 1)
    while not (tmp_path / "out" / "sweep.json").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    stderr = ended(process, 75)
    assert number.name in stderr
    assert "Traceback" not in stderr


INTERRUPTED = """
import signal, sys
name = sys.argv.pop(1)
class Finder:
    def find_spec(self, found, path, target=None):
        if found == name:
            signal.raise_signal(signal.SIGINT)
from recovery.cli.start import main
sys.meta_path.insert(0, Finder())
main()
"""


MODULES = ("recovery.cli.main", "click", "recovery.runner.stop", "numpy")


@pytest.mark.parametrize(
    "name", ["recovery.cli.sweep", *(pytest.param(name, marks=pytest.mark.deep) for name in MODULES)]
)
def test_an_interrupt_while_modules_load_is_75(tmp_path: Path, name: str) -> None:
    config = write_config(tmp_path)
    command = [sys.executable, "-c", INTERRUPTED, name, "sweep", str(config), "--out", str(tmp_path / "out")]
    process = started(command)
    stderr = ended(process, 75)
    assert stderr.startswith("stopped by SIGINT before")
    assert stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
