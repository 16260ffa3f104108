"""The Python door refuses what the command line refuses, before anything is stored."""

import re
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import recovery
from recovery.api import IncompleteError
from recovery.methods.min_norm import MinNorm

from .config.sweeps import BASE
from .own_method import write_method

CONFIG = {**BASE, "axes": {"n": [10, 20], "d": [2, 3]}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": -1}, "jobs: found -1; allowed: an integer >= 1"),
        ({"jobs": 0}, "jobs: found 0"),
        ({"jobs": 1.5}, "jobs: found 1.5"),
        ({"backend": "slurm"}, "backend: found 'slurm'; allowed: processes, threading or dask"),
        ({"trial_timeout": -1.0}, "the time of a trial: found -1.0; allowed: a number of seconds > 0"),
        ({"trial_timeout": float("nan")}, "the time of a trial: found nan"),
        ({"overrides": ["replicates"]}, "allowed: PATH=VALUE"),
    ],
)
def test_odd_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(recovery.RecoverError, match=re.escape(message)):
        recovery.run(CONFIG, tmp_path / "out", quiet=True, **options)
    assert not (tmp_path / "out").exists()


def test_overrides_of_a_sweep_that_is_loaded_are_refused(tmp_path: Path) -> None:
    with pytest.raises(recovery.RecoverError, match="give them to `load`"):
        recovery.run(recovery.load(CONFIG), tmp_path / "out", ["replicates=2"], quiet=True)


def test_a_single_override_needs_no_list() -> None:
    assert recovery.load(CONFIG, "replicates=3").replicates == 3


def test_overrides_may_be_a_mapping() -> None:
    changed = {"replicates": 3, "axes.n": [10, 20, 30], "method": {"kind": "min_norm", "program": "exact"}}
    sweep = recovery.load(CONFIG, changed)
    assert (sweep.replicates, len(sweep.cells)) == (3, 6)
    assert {cell.method for cell in sweep.cells} == {MinNorm("exact")}
    with pytest.raises(recovery.RecoverError, match="replicats"):
        recovery.load(CONFIG, {"replicats": 3})


def test_a_config_too_deep_to_be_one_is_named() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(recovery.RecoverError, match="cannot be a config"):
        recovery.load(deep)


def test_another_thread_than_the_main_one_is_told(tmp_path: Path) -> None:
    told: list[str] = []

    def call() -> None:
        try:
            recovery.run(CONFIG, tmp_path / "out", jobs=1, quiet=True)
        except recovery.RecoverError as error:
            told.append(str(error))

    thread = Thread(target=call)
    thread.start()
    thread.join()
    assert "main thread" in told[0]


def test_a_sweep_that_gives_up_says_where_the_reason_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = write_method(tmp_path / "broken_method.py", "raise ValueError('no')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    config = {**CONFIG, "method": {"kind": kind}, "replicates": 15}
    with pytest.raises(IncompleteError, match=r"`recover status .*out` says why"):
        recovery.run(config, tmp_path / "out", jobs=1, quiet=True)
