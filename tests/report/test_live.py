"""`recover status --watch`: the counts and the map while trials come in."""

from io import StringIO
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from rich.console import Console

from recovery.report.live import EVERY, watch
from recovery.runner.status import Standing
from recovery.store.folder import Folder

from .grids import fail, grid, wendel_rows
from .test_command import run_command


def begun(rows: pd.DataFrame, path: Path, stored: int) -> Folder:
    """A results folder with the first rows of a sweep."""
    rows["started_at"] = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(range(len(rows)), unit="s")
    made = grid(rows, path)
    folder = Folder(path)
    folder.create({"format": 1, **made.sweep})
    if stored:
        folder.write(made.table[:stored])
    return folder


def words(found: Standing) -> str:
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

    watch(folder.path, words, Console(file=StringIO(), width=100), interrupted)


def test_the_command_ends_at_once_where_nothing_is_missing(tmp_path: Path) -> None:
    folder = begun(wendel_rows(), tmp_path / "drawn", 10**6)
    result = run_command("status", folder.path, "--watch")
    assert result.exit_code == 0, result.output
    assert "300 of 300 trials stored, 0 missing" in " ".join(result.stdout.split())
    assert "fraction recovered" in result.stdout
    assert run_command("status", tmp_path / "nowhere", "--watch").exit_code == 2
