import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recovery.errors import StoreError
from recovery.store import read
from recovery.store.parts import MOST_ROWS, Damaged, clean_temporaries, list_parts, read_part, read_parts, write_part
from recovery.store.round_files import read_rounds

from .rows import folder, rows


def test_a_part_reads_back_as_written(tmp_path: Path) -> None:
    table = rows("a", "b", recovered=True, gap=1e-9)
    assert read_part(write_part(tmp_path, table)) == table


def test_plain_readers_read_the_folder_as_it_stands(tmp_path: Path) -> None:
    write_part(tmp_path, rows("a", recovered=True))
    write_part(tmp_path, rows("b", recovered=None))
    (tmp_path / f".{socket.gethostname()}.1.{'0' * 32}.tmp").write_bytes(b"unfinished")
    assert sorted(pd.read_parquet(tmp_path)["trial_id"]) == ["a", "b"]
    assert sorted(pq.read_table(tmp_path)["trial_id"].to_pylist()) == ["a", "b"]


def test_equal_tables_are_one_part_and_others_never_collide(tmp_path: Path) -> None:
    write_part(tmp_path, rows("a"))
    write_part(tmp_path, rows("a"))
    write_part(tmp_path, rows("b"))
    assert len(list_parts(tmp_path)) == 2


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path) -> None:
    assert list_parts(tmp_path / "none") == []
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for reading in (list_parts, read_parts, read_rounds):
        with pytest.raises(StoreError, match="cannot be read"):
            reading(loop)


@pytest.mark.parametrize("position", [0, 100, -30, -1])
def test_a_flipped_byte_anywhere_is_seen(tmp_path: Path, position: int) -> None:
    path = write_part(tmp_path, rows("a"))
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)
    assert isinstance(read_part(path), Damaged)


@pytest.mark.parametrize("kept", [0, 4, 1000])
def test_a_truncated_part_is_seen_and_named(tmp_path: Path, kept: int) -> None:
    path = write_part(tmp_path, rows("a"))
    path.write_bytes(path.read_bytes()[:kept])
    whole, damaged = read_parts(tmp_path)
    assert whole == []
    assert [part.path for part in damaged] == [path]


def test_temporary_files_go_when_their_writer_is_gone(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host, unique = socket.gethostname(), "0" * 32
    abandoned = tmp_path / f".{host}.{gone.pid}.{unique}.tmp"
    written_now = tmp_path / f".{host}.{os.getpid()}.{unique}.tmp"
    elsewhere_new = tmp_path / f".other-host.{gone.pid}.{unique}.tmp"
    elsewhere_old = tmp_path / f".another-host.{gone.pid}.{unique}.tmp"
    for path in (abandoned, written_now, elsewhere_new, elsewhere_old):
        path.touch()
    os.utime(elsewhere_old, (0, 0))
    clean_temporaries(tmp_path)
    assert set(tmp_path.iterdir()) == {written_now, elsewhere_new}


def test_a_part_that_memory_cannot_hold_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where Arrow says so in its own words, nor where a library under it finds others."""
    made = folder(tmp_path / "out", rows("a"))
    (path,) = list_parts(made.trials)
    for error in (pa.ArrowMemoryError("malloc of size 64 failed"), pa.ArrowInvalid("ZSTD: not enough memory")):
        with monkeypatch.context() as patch:
            patch.setattr(pq.ParquetFile, "read", lambda self, columns=None, error=error: _raise(error))
            with pytest.raises(StoreError, match="memory"):
                made.prepare()
        assert path.exists()
    assert made.prepare() == []


def test_little_memory_leaves_parts_where_they_are(tmp_path: Path) -> None:
    """A part of 2 MB that unpacks to a hundred times as much, read by a process that may have less than that."""
    made = folder(tmp_path / "out", rows(*(f"{i:032}" for i in range(200_000)), error_message="x" * 900))
    code = f"""
import resource
from pathlib import Path
from recovery.store.folder import Folder
import recovery.store.grid
from recovery.errors import StoreError
used = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (used + 80 * 2**20,) * 2)
try:
    recovery.store.grid.read({str(made.path)!r})
except (StoreError, MemoryError) as error:
    print(type(error).__name__)
try:
    print(Folder(Path({str(made.path)!r})).prepare())
except StoreError:
    pass
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "StoreError" in done.stdout, done.stderr
    assert len(list_parts(made.trials)) == 1
    assert not (made.path / "damaged").exists()


def test_parts_of_wrong_types_or_too_many_rows_are_named_before_they_are_unpacked(tmp_path: Path) -> None:
    good = rows("a")
    wrong = good.set_column(good.schema.get_field_index("status"), "status", pa.array([1]))
    assert "'status' is int64, not string" in _reason(write_part(tmp_path, wrong))
    zeros = pa.array(np.zeros(MOST_ROWS + 1, np.int8)).cast(pa.string())
    assert "10000001 rows" in _reason(write_part(tmp_path, pa.table({"trial_id": zeros})))


@pytest.mark.parametrize("name", ["sweep.json", "rounds/02.json"])
@pytest.mark.parametrize("kind", ["pipe", "zeros"])
def test_what_never_ends_is_no_file(tmp_path: Path, name: str, kind: str) -> None:
    made = folder(tmp_path / "out", rows("a"))
    path = made.path / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match=path.name):
        read(made.path)


def _reason(path: Path) -> str:
    part = read_part(path)
    assert isinstance(part, Damaged)
    return part.reason


def _raise(error: Exception) -> None:
    raise error
