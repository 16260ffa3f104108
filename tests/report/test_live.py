"""`recover status --watch` and `recover sweep --watch`: the counts and the map while trials come in."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

from recovery.report.live import EVERY, Watching, watch
from recovery.runner.progress import State
from recovery.runner.sweep_status import SweepStatus
from recovery.store.folder import Folder
from tests.invoke import recover, said

from .grids import fail, grid, wendel_rows


def begun(rows: pd.DataFrame, path: Path, stored: int) -> Folder:
    """A results folder with the first rows of a sweep."""
    rows["started_at"] = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(range(len(rows)), unit="s")
    made = grid(rows, path)
    folder = Folder(path)
    folder.create({"format": 1, **made.sweep})
    if stored:
        folder.write(made.table[:stored])
    return folder


def words(found: SweepStatus) -> str:
    return f"{found.stored} of {found.planned}"


@pytest.mark.parametrize("first", [0, 100])
def test_it_shows_the_map_as_trials_come_in_and_ends_when_none_is_missing(tmp_path: Path, first: int) -> None:
    rows = fail(wendel_rows(), slice(0, 5))
    folder = begun(rows, tmp_path / "drawn", first)
    table = pa.Table.from_pandas(rows, preserve_index=False)
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        folder.write(table[first:])

    buffer = StringIO()
    console = Console(file=buffer, width=100, height=60, force_terminal=True, color_system=None)
    watch(folder.path, words, console, rest)
    text = buffer.getvalue()
    assert len(rests) == 1
    assert rests[0] >= EVERY
    assert text.index(f"{first} of {len(rows)}") < text.index(f"{len(rows)} of {len(rows)}")
    assert ("fraction recovered: 0" in text[: text.index(f"{len(rows)} of {len(rows)}")]) == (first > 0)
    assert "fraction recovered: 0" in text[text.index(f"{len(rows)} of {len(rows)}") :]


def test_ctrl_c_ends_it_quietly(tmp_path: Path) -> None:
    folder = begun(wendel_rows(), tmp_path / "drawn", 50)

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    buffer = StringIO()
    watch(folder.path, words, Console(file=buffer, width=100), interrupted)
    assert "50 of" in buffer.getvalue()


def test_the_command_ends_at_once_where_nothing_is_missing(tmp_path: Path) -> None:
    folder = begun(wendel_rows(), tmp_path / "drawn", 10**6)
    result = said("status", folder.path, "--watch")
    assert "300 of 300 trials stored, 0 missing" in " ".join(result.split())
    assert "fraction recovered" in result
    assert recover("status", tmp_path / "nowhere", "--watch").exit_code == 2


class Advanced(State):
    """A sweep of which some trials are done."""

    def __init__(self, done: int) -> None:
        super().__init__()
        self.done = done


def test_a_sweep_shows_its_map_from_the_first_trial_to_the_last(tmp_path: Path) -> None:
    rows = wendel_rows()
    folder = begun(rows, tmp_path / "drawn", 100)
    buffer = StringIO()
    shown = Watching(folder.path, words, Console(file=buffer, width=100, force_terminal=True, color_system=None))
    shown.show(Advanced(0))
    assert buffer.getvalue() == ""
    shown.show(Advanced(1))
    assert "100 of 300" in buffer.getvalue()
    assert "fraction recovered: 0" in buffer.getvalue()
    folder.write(pa.Table.from_pandas(rows, preserve_index=False)[100:])
    shown.show(Advanced(200))  # too soon for another refresh
    assert "300 of 300" not in buffer.getvalue()
    shown.print("a trial failed")
    shown.close()
    assert "a trial failed" in buffer.getvalue()
    assert "300 of 300" in buffer.getvalue()


def test_a_sweep_goes_on_where_its_map_cannot_be_read_or_written(tmp_path: Path) -> None:
    class Gone(StringIO):
        def write(self, text: str) -> int:
            raise OSError("gone")

    folder = begun(wendel_rows(), tmp_path / "drawn", 100)
    Watching(folder.path, words, Console(file=Gone(), force_terminal=True)).show(Advanced(1))
    buffer = StringIO()
    lost = Watching(tmp_path / "nowhere", words, Console(file=buffer, width=300, force_terminal=True))
    lost.show(Advanced(1))
    lost.close()
    assert "nowhere" in buffer.getvalue()


CONFIG = """
name: small
replicates: 2
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
method: {kind: min_norm}
axes: {n: [10, 20, 30], d: [3, 5]}
"""


@pytest.mark.deep
@pytest.mark.parametrize(("options", "map_"), [(["--watch"], True), (["--watch", "-q"], False), ([], False)])
def test_the_map_is_for_a_terminal_that_asks_for_it(tmp_path: Path, options: list[str], map_: bool) -> None:
    (tmp_path / "small.yaml").write_text(CONFIG)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "recovery.cli", "sweep", "small.yaml", "--jobs", "1", *options]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "60"}
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env=environment)
    os.close(theirs)
    text = b"".join(_parts(ours))
    said, _ = running.communicate()
    assert running.returncode == 0, text.decode()
    assert b"12 of 12 trials stored" in said
    assert (b"fraction recovered: 0" in text) == map_
    assert (text == b"") == ("-q" in options)


def _parts(terminal: int) -> Iterator[bytes]:
    """Yield the output of a terminal until its last writer has closed it."""
    with open(terminal, "rb", buffering=0) as file, suppress(OSError):
        while part := file.read(1 << 16):
            yield part


@pytest.mark.deep
def test_away_from_a_terminal_there_are_lines(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(CONFIG)
    command = [sys.executable, "-m", "recovery.cli", "sweep", "small.yaml", "--jobs", "1", "--watch"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "fraction recovered" not in done.stderr
    assert "small: 12 of 12 trials" in done.stderr
