from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recovery.errors import StoreError
from recovery.methods.columns import COLUMNS
from recovery.store import read
from recovery.store.compaction import add_columns, compact
from recovery.store.parts import list_parts
from recovery.store.row_schema import coordinate_types
from recovery.types import Mask

from .rows import START, folder, rows


def test_rows_come_back_with_types_that_keep_nulls(tmp_path: Path) -> None:
    folder(tmp_path, rows("a", recovered=True, iterations=3), rows("b", recovered=None))
    frame = read(tmp_path).frame.set_index("trial_id").sort_index()
    assert frame["recovered"].dtype == "boolean"
    assert frame["recovered"].isna().tolist() == [False, True]
    assert frame["iterations"].dtype == "Int64"
    assert frame["n"].tolist() == [10, 10]
    assert frame["started_at"].tolist() == [pd.Timestamp(START)] * 2


def test_a_sweep_without_rows_is_an_empty_grid(tmp_path: Path) -> None:
    folder(tmp_path)
    frame = read(tmp_path).frame
    assert len(frame) == 0
    assert "recovered" in frame


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


def test_a_damaged_part_is_never_left_out_in_silence(tmp_path: Path) -> None:
    stored = folder(tmp_path, rows("a"), rows("b"))
    path = list_parts(stored.trials)[0]
    path.write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=path.name):
        read(tmp_path)


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

    add_columns(stored, coordinate_types(values), COLUMNS, told)
    frame = read(tmp_path).frame.sort_values("trial_id")
    grown = frame[["trial_id", "n", "method.beta", "gap"]].astype(object).where(frame.notna(), None)
    assert grown.to_numpy().tolist() == [["a", 10, 0.25, 0.5], ["b", 10, None, 0.5]]
