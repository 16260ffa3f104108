"""Files of rounds that cannot be read, or are damaged."""

from pathlib import Path

import pytest

from recovery.errors import StoreError
from recovery.store import read

from .sweeps import Acting, rows
from .test_until import FIRST, config, until

TIGHT = "threshold +-0.08"
"""A rule that takes several rounds."""


def test_a_round_file_that_cannot_be_read_stops_the_run_and_the_same_command_continues(tmp_path: Path) -> None:
    """Neither planning the round again without end, nor taking a moment's failure of the file system for damage."""
    path, out = config(tmp_path), tmp_path / "out"
    second, kept = out / "rounds" / "02.json", tmp_path / "02.json"

    def make_unreadable() -> None:
        second.rename(kept)
        second.symlink_to(second)  # too many levels of symbolic links

    stopped = until(path, out, TIGHT, progress=Acting(FIRST + 1, make_unreadable)).stopped
    assert "rounds: cannot be read" in str(stopped)
    kept.replace(second)
    stopped = until(path, out, TIGHT, progress=Acting(1, lambda: second.write_text("{}"))).stopped
    assert "02.json: does not match its checksum" in str(stopped)
    summary = until(path, out, TIGHT)
    assert ([damaged.path.name for damaged in summary.damaged], summary.stopped) == (["02.json"], None)
    assert len(rows(out)) == summary.planned


def test_a_damaged_round_is_moved_aside_and_planned_again(tmp_path: Path) -> None:
    path, out = config(tmp_path), tmp_path / "out"
    until(path, out)
    last = max((out / "rounds").iterdir())
    content = last.read_bytes()
    last.write_bytes(content.replace(b'"budget": ', b'"budget": 1'))
    with pytest.raises(StoreError, match=rf"{last.name}: does not match its checksum"):
        read(out)
    summary = until(path, out)
    assert [damaged.path.name for damaged in summary.damaged] == [last.name]
    assert sum(summary.ran.values()) == 0
    assert last.read_bytes() == content
