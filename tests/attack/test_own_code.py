"""Whatever a method does, each trial is a row, and nothing that it started is left."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.runner.sweeps import rows, sweep, write_config

from .hostile import ACTS, FAILED, KILLED, OK

FEW = ("half", "address", "daemon", "forked")
TIMEOUT = 8.0
"""Seconds of a trial."""


def own(folder: Path, **fields: Any) -> Path:
    shutil.copy(Path(__file__).with_name("hostile.py"), folder / "own_acts.py")
    method = {"kind": "own_acts:Own", "path": str(folder), **fields.pop("method", {})}
    return write_config(folder, method=method, d=2, **fields)


def left_of(noted: Path) -> list[str]:
    """The noted processes that are still there."""
    pids = noted.read_text().split()
    assert pids
    return [pid for pid in pids if Path("/proc", pid).exists()]


@pytest.mark.parametrize(
    ("timeout", "acts"),
    [
        pytest.param(None, FEW, id="few, plain"),
        pytest.param(None, tuple(ACTS), id="all, plain", marks=pytest.mark.deep),
        pytest.param(TIMEOUT, tuple(ACTS), id="all, limited", marks=pytest.mark.deep),
    ],
)
def test_each_trial_is_a_row(
    tmp_path: Path, timeout: float | None, acts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = own(tmp_path, axes={"n": [4], "method.act": list(acts)}, replicates=2)
    monkeypatch.chdir(tmp_path)
    sweep(config, Path("out"), jobs=2, timeout=timeout)
    found = rows(tmp_path / "out").groupby("method.act")
    assert found.size().to_dict() == dict.fromkeys(acts, 2)
    statuses = found["status"].unique().map(list).to_dict()
    for status, of in (("failed", FAILED), ("killed", KILLED), ("ok", OK)):
        assert {act: statuses[act] for act in of if act in acts} == {act: [status] for act in of if act in acts}
    kinds = found["error_type"].unique()
    assert {act: kinds[act][0] for act in FAILED if act in acts} == {
        act: FAILED[act][0] for act in FAILED if act in acts
    }
    assert set(found.get_group("half")["error_message"]) == {"half ? and ?[31mred"}
    assert set(found.get_group("address")["error_message"]) == {"<object object at 0x...>"}  # equal in all processes
    if "daemon" in acts:
        assert left_of(tmp_path / "daemon") == []
    left = {path.name for path in tmp_path.iterdir()} - {"fake.yaml", "fake_methods.py", "own_acts.py", "__pycache__"}
    assert left <= {"out", "daemon"}


def test_a_late_trial_leaves_no_process(tmp_path: Path) -> None:
    config = own(tmp_path, method={"act": "orphan"}, axes={"n": [4]}, replicates=2)
    assert sweep(config, tmp_path / "out", timeout=0.5).stored == {"timeout": 2}
    assert left_of(tmp_path / "orphan") == []
