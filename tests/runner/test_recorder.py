"""Rows that cannot be stored, or never come, stop the sweep; a trial is judged by what it does in a fresh process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recovery.runner.engine import Engine
from recovery.runner.pool import Limits
from recovery.store.folder import Folder
from tests.invoke import recover
from tests.runner.sweeps import rows, sweep, write_config

SECOND = """
import os, time
from dataclasses import dataclass
from recovery.methods.columns import select

RUN = []

@dataclass(frozen=True)
class Second:
    act: str
    columns = select("recovered")

    def cost(self, n, d):
        return 1.0

    def __call__(self, instance, architecture):
        RUN.append(1)
        if len(RUN) > 1:
            time.sleep(3600) if self.act == "hang" else os._exit(3)
        return {"recovered": True}
"""


def test_rows_that_cannot_be_stored_stop_the_sweep_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, parts = Folder.write, []

    def broken(self: Folder, table: Any, dataset: str = "trials") -> Path:
        if parts:
            raise ValueError("no such type")
        parts.append(write(self, table, dataset))
        return parts[0]

    monkeypatch.setattr(Folder, "write", broken)
    config = write_config(tmp_path, method={"seconds": 0.05}, replicates=400)
    result = recover("sweep", config, "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 75
    assert "rows cannot be stored: no such type" in result.stderr
    assert 0 < len(rows(tmp_path / "out")) < 200


def test_exit_0_counts_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Engine.run

    def losing(self: Engine, trials: Any, *more: Any) -> Iterator[Any]:
        yield from run(self, list(trials)[1:], *more)

    monkeypatch.setattr(Engine, "run", losing)
    result = recover("sweep", write_config(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert result.exit_code == 75
    assert "1 trials ran, but the folder has no rows of them" in result.stderr


@pytest.mark.parametrize("act", ["hang", "die"])
def test_a_late_or_lost_trial_is_tried_again_in_a_fresh_process(tmp_path: Path, act: str) -> None:
    (tmp_path / "own_again.py").write_text(SECOND)
    config = write_config(tmp_path, axes={"n": [4], "d": [2], "method": [{"kind": "own_again:Second", "act": act}]})
    assert sweep(config, tmp_path / "out", limits=Limits(seconds=1)).stored == {"ok": 4}
