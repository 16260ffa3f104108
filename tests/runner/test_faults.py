"""Full disks, folders that cannot be written, clocks that jump.

Kills are in test_independence, dead workers in test_pool, damaged parts in attack/test_bytes and store/test_parts.
"""

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recovery.config import load
from recovery.errors import StoreError
from recovery.report.until import interim_analysis
from recovery.runner import trial as trial_module
from recovery.runner.engine import Engine
from recovery.runner.plan import plan
from recovery.runner.progress import Progress
from recovery.runner.run import Options, run
from recovery.runner.stop import Stop
from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.files import write_atomically
from recovery.store.folder import Folder
from recovery.store.parts import list_parts
from tests.invoke import refused, said
from tests.needs import lacking

from .kills import COMMAND, ended, start
from .sweeps import rows, sweep, write_config


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 48 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", disk], check=False)
    if mounted.returncode:
        lacking("root")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@pytest.mark.deep
def test_a_full_disk_stops_with_75_keeps_what_is_stored_and_goes_on_elsewhere(tmp_path: Path, small_disk: Path) -> None:
    config = write_config(tmp_path, replicates=40, method={"seconds": 0.03})
    out = small_disk / "out"
    process = start(config, "--out", out, "--jobs", 1)
    stderr = ended(process, 75)
    assert "No space left on device" in stderr
    assert "Traceback" not in stderr
    assert not list(out.rglob("*.tmp"))
    stored = rows(out)
    assert 0 < len(stored) < 240

    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)
    assert sweep(config, out).stored == {"ok": 240}
    pd.testing.assert_frame_equal(rows(out).loc[stored.index], stored)


@pytest.mark.deep
@pytest.mark.parametrize("words", [["report", "--format", "csv"], ["compare"], ["replay"], ["compact"]])
def test_what_a_full_disk_has_no_room_for_is_a_message(tmp_path: Path, small_disk: Path, words: list[str]) -> None:
    """Neither half a file nor a lost row."""
    config = write_config(tmp_path, method={"kind": "isometry"}, architecture="relu_skip")
    out = small_disk / "out" if words == ["compact"] else tmp_path / "out"
    subprocess.run(["mount", "-o", "remount,size=8m", small_disk], check=True)
    for shard in ((1, 2), (2, 2)):
        sweep(config, out, shard=shard)
    suffix = {"replay": "npz"}.get(words[0], "csv")
    expected, file = rows(out), small_disk / f"file.{suffix}"
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
    before = {path: path.read_bytes() for path in small_disk.rglob("*") if path.is_file()}
    more = {"compare": [out], "replay": [expected.index[0], "--save", file]}.get(words[0], [])
    into = [] if words[0] in ("replay", "compact") else ["--out", file]
    command = list(map(str, [*COMMAND[:-1], words[0], out, *more, *words[1:], *into]))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode not in (0, -9), done.stdout
    assert "No space left on device" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in small_disk.rglob("*") if path.is_file()} == before
    pd.testing.assert_frame_equal(rows(out), expected)


def test_a_folder_that_may_not_be_written_is_a_message_before_any_work(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    sweep(config, tmp_path / "out")
    part = list_parts(tmp_path / "out" / "trials")[0]
    part.unlink()
    locked = tmp_path / "out" / "trials"
    if os.geteuid() == 0:  # root may write anywhere but to a read-only mount
        subprocess.run(["mount", "--bind", locked, locked], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", locked], check=True)
    else:
        locked.chmod(0o555)
    try:
        stderr = refused("sweep", config, "--out", tmp_path / "out")
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", locked], check=True)
        else:
            locked.chmod(0o755)
    assert "cannot be written" in stderr
    assert "--out" in stderr
    assert len(stderr.splitlines()) < 10


def test_a_file_system_without_hard_links_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    axes = {"n": [2, 4, 6, 8, 10, 12], "d": [3]}
    config = write_config(tmp_path, method={"act": "transition"}, axes=axes)
    sweep(config, tmp_path / "plain")
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    sweep(config, tmp_path / "out")
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), rows(tmp_path / "plain"))
    second = tmp_path / "second"
    assert write_atomically(second, b"first", replace=False)
    assert not write_atomically(second, b"other", replace=False)
    assert second.read_bytes() == b"first"
    assert not [*tmp_path.rglob("*.tmp")]


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(days=400)])
def test_a_clock_that_jumps_changes_times_only(
    tmp_path: Path, jump: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(tmp_path)
    sweep(config, tmp_path / "plain")

    class Jumping(datetime):
        calls = 0

        @classmethod
        def now(cls, tz: Any = None) -> "Jumping":
            cls.calls += 1
            moment = datetime.now(UTC) + (jump if cls.calls > 10 else timedelta())
            return cls.fromtimestamp(moment.timestamp(), tz)

    monkeypatch.setattr(trial_module, "datetime", Jumping)
    sweep(config, tmp_path / "out", shard=(1, 2))
    sweep(config, tmp_path / "out")
    assert sum(sweep(config, tmp_path / "out").ran.values()) == 0
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), rows(tmp_path / "plain"))
    assert read(tmp_path / "out").frame["seconds"].between(0, 60).all()
    status = said("status", tmp_path / "out")
    assert "24 of 24 trials stored, 0 missing" in status
    assert " -" not in status


def test_concurrent_compactions_lose_nothing(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    for index in range(1, 13):
        sweep(config, tmp_path / "out", shard=(index, 12))
    expected = rows(tmp_path / "out")
    threads = [threading.Thread(target=compact, args=[Folder(tmp_path / "out")]) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pd.testing.assert_frame_equal(rows(tmp_path / "out"), expected)


def test_of_two_configs_that_start_on_one_folder_at_once_the_second_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = plan(load(write_config(tmp_path)), out)
    second = plan(load(write_config(tmp_path, seed=8)), out)
    options = Options(Engine(1))
    with Stop() as stop:
        run(first, options, Progress(), stop, interim_analysis)
        expected = rows(out)
        with pytest.raises(StoreError, match="seed: 7 -> 8"):
            run(second, options, Progress(), stop, interim_analysis)
    assert read(out).sweep["config"]["seed"] == 7
    pd.testing.assert_frame_equal(rows(out), expected)
