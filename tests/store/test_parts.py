import os
import re
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recovery.errors import ParameterError, StoreError
from recovery.methods.columns import (
    COLUMNS,
    FIXED,
    RESERVED,
    Column,
    ColumnError,
    checked,
    columns_document,
    columns_from,
    columns_of,
    select,
    union,
)
from recovery.methods.method import METHODS
from recovery.store import files, read
from recovery.store.compaction import add_columns, compact
from recovery.store.files import Damaged, checksum, clean_temporaries
from recovery.store.parts import MAGIC, list_parts, read_all, read_part, read_parts, write_part
from recovery.store.round_files import read_rounds
from recovery.store.row_schema import CIRCUMSTANCE, IDENTITY, coordinate_types, keys_of
from recovery.types import Mask
from tests.needs import need_root

from .rows import START, folder, rows


def test_plain_readers_read_the_folder_as_it_stands(tmp_path: Path) -> None:
    write_part(tmp_path, rows("a", recovered=True))
    write_part(tmp_path, rows("b", recovered=None))
    (tmp_path / f".{socket.gethostname()}.1.{'0' * 32}.tmp").write_bytes(b"unfinished")
    assert sorted(pd.read_parquet(tmp_path)["trial_id"]) == ["a", "b"]
    assert sorted(pq.read_table(tmp_path)["trial_id"].to_pylist()) == ["a", "b"]


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(tmp_path: Path) -> None:
    assert list_parts(tmp_path / "none") == []
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for reading in (list_parts, read_parts, read_rounds):
        with pytest.raises(StoreError, match="cannot be read"):
            reading(loop)
    (tmp_path / f"part-{'0' * 32}.parquet").symlink_to("gone")
    with pytest.raises(StoreError, match="is a symbolic link to no file"):
        read_parts(tmp_path)
    (tmp_path / "more").write_text("mine")
    with pytest.raises(StoreError, match="more: a file is in the way"):
        folder(tmp_path).write(rows("b"), "more")


@pytest.mark.parametrize("kept", [0, 4, 1000])
def test_a_truncated_part_is_seen_and_named(tmp_path: Path, kept: int) -> None:
    path = write_part(tmp_path, rows("a"))
    path.write_bytes(path.read_bytes()[:kept])
    (damaged,) = read_all(tmp_path).values()
    assert isinstance(damaged, Damaged)
    assert damaged.path == path


def test_temporary_files_go_when_their_writer_is_gone(tmp_path: Path) -> None:
    host, unique = socket.gethostname(), "0" * 32
    abandoned = tmp_path / f".{host}.{unique}.tmp"
    elsewhere_new = tmp_path / f".other-host.{unique}.tmp"
    elsewhere_old = tmp_path / f".another-host.{unique}.tmp"
    for path in (abandoned, elsewhere_new, elsewhere_old):
        path.touch()
    os.utime(elsewhere_old, (0, 0))
    clean_temporaries(tmp_path)
    assert set(tmp_path.iterdir()) == {elsewhere_new}


def test_a_temporary_file_stays_while_it_is_written_whatever_process_namespace_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers with one host name count processes each for itself."""
    code = "import sys, pathlib; from recovery.store.files import clean_temporaries"
    code += "; clean_temporaries(pathlib.Path(sys.argv[1]))"
    elsewhere = ["unshare", "--pid", "--fork", sys.executable, "-c", code, str(tmp_path)]
    need_root()
    cleaned = []

    def fsync(descriptor: int) -> None:
        cleaned.append(subprocess.run(elsewhere, check=True))

    monkeypatch.setattr(os, "fsync", fsync)
    assert read_part(write_part(tmp_path, rows("a"))) == rows("a")
    assert cleaned
    assert not list(tmp_path.glob(".*"))


def test_a_temporary_file_that_was_taken_for_an_abandoned_one_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep that cleans up may come between the file and its lock."""
    taken = []

    def lock(file: object, operation: int) -> None:
        if not taken:
            taken.append(next(tmp_path.glob(".*.tmp")).unlink())

    monkeypatch.setattr(files, "flock", lock)
    assert read_part(write_part(tmp_path, rows("a"))) == rows("a")
    assert taken


def test_the_memory_does_not_depend_on_the_size_of_a_damaged_part(tmp_path: Path) -> None:
    """A sparse file takes no space in an archive, and a part of equal rows little."""
    paths = [tmp_path / f"part-{digit * 32}.parquet" for digit in "012"]
    for path, tail in zip(paths, (b"none", MAGIC), strict=False):
        with path.open("wb") as file:
            file.truncate(2**29)
            file.seek(0, os.SEEK_END)
            file.write(tail)
    with pq.ParquetWriter(paths[2], pa.schema({"n": pa.int64()})) as writer:
        for _ in range(11):
            writer.write_table(pa.table({"n": np.zeros(10**6, np.int64)}))
    paths[2] = paths[2].rename(tmp_path / f"part-{checksum(paths[2].read_bytes())}.parquet")
    code = "import resource, sys, pathlib; from recovery.store.parts import read_part\n"
    code += "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
    code += "for path in sys.argv[1:]: print(read_part(pathlib.Path(path)))\n"
    code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=True)
    reasons = done.stdout.splitlines()
    for path, said, reason in zip(paths, reasons, ("are not a Parquet", "do not match", "11000000 rows"), strict=False):
        assert re.search(f"{path.name}: .*{reason}", said), said
    assert int(reasons[-1]) < 64 * 1024  # kilobytes


def test_a_part_that_memory_cannot_hold_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where Arrow says so in its own words, nor where a library under it finds others."""
    made = folder(tmp_path / "out", rows("a"))
    (path,) = list_parts(made.trials)
    for error in (pa.ArrowMemoryError("malloc of size 64 failed"), pa.ArrowInvalid("ZSTD: not enough memory")):
        with monkeypatch.context() as patch:
            patch.setattr(pq.ParquetFile, "read", lambda self, columns=None, error=error: _raise(error))
            with pytest.raises(StoreError, match="memory"):
                read_parts(made.trials)
        assert path.exists()
    assert [table for _, table in read_parts(made.trials)] == [rows("a")]


def test_a_part_with_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    good = rows("a")
    wrong = good.set_column(good.schema.get_field_index("status"), "status", pa.array([1]))
    part = read_part(write_part(tmp_path, wrong))
    assert isinstance(part, Damaged)
    assert "'status' is int64, not string" in part.reason


@pytest.mark.parametrize("name", ["sweep.json", "rounds/02.json"])
@pytest.mark.parametrize("kind", ["pipe", "zeros", "folder"])
def test_what_never_ends_is_no_file(tmp_path: Path, name: str, kind: str) -> None:
    made = folder(tmp_path / "out", rows("a"))
    path = made.path / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    {"pipe": os.mkfifo, "folder": os.mkdir}.get(kind, lambda place: place.symlink_to("/dev/zero"))(path)
    with pytest.raises(StoreError, match=f"{path.name}: (is not a regular file|does not match)"):
        read(made.path)


def _raise(error: Exception) -> None:
    raise error


def test_rows_come_back_with_types_that_keep_nulls(tmp_path: Path) -> None:
    folder(tmp_path, rows("a", recovered=True, iterations=3), rows("b", recovered=None))
    frame = read(tmp_path).frame.set_index("trial_id").sort_index()
    assert frame["recovered"].dtype == "boolean"
    assert frame["recovered"].isna().tolist() == [False, True]
    assert frame["iterations"].dtype == "Int64"
    assert frame["n"].tolist() == [10, 10]
    assert frame["started_at"].tolist() == [pd.Timestamp(START)] * 2


def test_of_two_rows_of_a_trial_ok_wins_then_the_later(tmp_path: Path) -> None:
    later = START + timedelta(hours=1)
    folder(
        tmp_path,
        rows("a", "b", status="failed", error_type="First"),
        rows("b", status="timeout", started_at=later, error_type="Second"),
        rows("a"),
    )
    frame = read(tmp_path).frame.set_index("trial_id")
    assert frame["status"].to_dict() == {"a": "ok", "b": "timeout"}
    text = (Path(__file__).parents[2] / "docs" / "rows.md").read_text()
    (line,) = re.findall(r"^rows = rows\..*drop_duplicates.*$", text, re.MULTILINE)
    exec(line, names := {"rows": pd.read_parquet(tmp_path / "trials")})
    kept = names["rows"].set_index("trial_id")
    pd.testing.assert_series_equal(kept["started_at"], frame["started_at"], check_like=True)
    assert kept["status"].to_dict() == frame["status"].to_dict()


def test_compact_keeps_every_row_once(tmp_path: Path) -> None:
    stored = folder(tmp_path, *(rows(str(i), str(i + 1), gap=i / 7) for i in range(20)))
    before = read(tmp_path).frame.sort_values("trial_id", ignore_index=True)
    assert compact(stored) == (20, 1)
    pd.testing.assert_frame_equal(read(tmp_path).frame.sort_values("trial_id", ignore_index=True), before)
    assert compact(stored) == (1, 1)


def test_a_grown_plan_gives_old_rows_its_columns(tmp_path: Path) -> None:
    stored = folder(tmp_path, rows("b", "a", gap=0.5))
    coordinates = {"n": 10, "d": 2, "method.beta": 0.25}
    values = {name: [value] for name, value in coordinates.items()}

    def told(ids: pa.ChunkedArray) -> tuple[Mask, dict[str, list[int | float]]]:
        return np.array([one == "a" for one in ids.to_pylist()]), values

    add_columns(stored, list_parts(stored.trials), coordinate_types([coordinates]), COLUMNS, told)
    frame = read(tmp_path).frame.sort_values("trial_id")
    grown = frame[["trial_id", "n", "method.beta", "gap"]].astype(object).where(frame.notna(), None)
    assert grown.to_numpy().tolist() == [["a", 10, 0.25, 0.5], ["b", 10, None, 0.5]]


def test_columns_survive_the_way_through_a_document() -> None:
    own = {"angle": Column(float, "angle to the planted neuron", "degrees"), **select("recovered")}
    assert columns_from(columns_document(own)) == own


def test_every_method_declares_what_it_measures() -> None:
    """Every column of the shared vocabulary belongs to a method; some methods have columns of their own beside it."""
    assert set(COLUMNS) <= set(union(columns_of(method) for method in METHODS.values()))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, "declares no columns"),
        (["recovered"], "declares no columns"),
        ({"n": Column(int, "")}, "every row has"),
        ({"two words": Column(int, "")}, "is not a name"),
        ({"recovered": Column(float, "")}, "is bool in every other method"),
        ({"x": float}, "is not a name with a Column"),
    ],
)
def test_columns_that_cannot_be_are_refused(columns: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        columns_of(type("Own", (), {"columns": columns}))


def test_two_methods_that_disagree_about_a_column_are_refused() -> None:
    with pytest.raises(ParameterError, match="two methods declare the column 'angle'"):
        union([{"angle": Column(float, "")}, {"angle": Column(int, "")}])


@pytest.mark.parametrize(
    ("measured", "error", "message"),
    [
        ({"recovered": 1}, ColumnError, "'recovered' holds bool, found int: 1"),
        ({"gap": "small"}, ColumnError, "'gap' holds float, found str"),
        ({"gap": True}, ColumnError, "'gap' holds float, found bool"),
        ({"active_groups": 2.0}, ColumnError, "'active_groups' holds int, found float"),
        ({"active_groups": 2**63}, ColumnError, "64 bits"),
        ({"solver": "\ud800"}, ColumnError, "half a character"),
        ({"solver": "a\n\\ud\ud800"}, ColumnError, "half a character"),
        ({"recoverd": True}, ColumnError, "'recoverd' is not declared"),
        ([True], ColumnError, "returns a mapping"),
        (None, ColumnError, "returns a mapping"),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_named(measured: object, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        checked(measured, COLUMNS)


def test_values_of_numpy_become_plain_ones() -> None:
    columns = select("recovered", "gap", "active_groups", "solver")
    assert checked({"solver": "two\nlines of \\ud"}, select("solver")) == {"solver": "two\nlines of \\ud"}
    plain = checked({"recovered": np.True_, "gap": np.float32(0.5), "active_groups": np.int32(3)}, columns)
    assert plain == {"recovered": True, "gap": 0.5, "active_groups": 3, "solver": None}
    assert [type(value) for value in plain.values()] == [bool, float, int, type(None)]


def test_no_measured_column_can_have_the_name_of_another_column_of_a_row() -> None:
    assert set(RESERVED) == {*IDENTITY, *FIXED, *CIRCUMSTANCE}


def test_axis_columns_take_the_type_of_their_values() -> None:
    cells = [
        {"n": 1, "noise": 0, "ensemble": "haar", "flag": True, "empty": None},
        {"n": 2, "noise": 0.5, "ensemble": "haar", "flag": None, "empty": None},
    ]
    assert coordinate_types(cells) == {
        "n": pa.int64(),
        "noise": pa.float64(),
        "ensemble": pa.string(),
        "flag": pa.bool_(),
        "empty": pa.string(),
    }


def test_ids_are_numbers_and_what_is_no_id_is_none() -> None:
    ids = ["00000000000000ff", "ffffffffffffffff", "00000000000000FF", "ff", "x" * 16, "0" * 17, "", None]
    expected = [255, 2**64 - 1, 0, 0, 0, 0, 0, 0]
    for kind in (pa.string(), pa.large_string()):
        column = pa.chunked_array([ids[:3], ids[3:]], kind)
        assert keys_of(column).tolist() == expected
        assert keys_of(column.slice(1)).tolist() == expected[1:]
    assert keys_of(pa.chunked_array([], pa.string())).tolist() == []
