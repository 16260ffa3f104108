import os
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from recovery.store.parts import Damaged, clean_temporaries, list_parts, read_part, read_parts, write_part

from .rows import rows


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
