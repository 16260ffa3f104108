"""`recover trials`: rows that satisfy a condition."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy

from recovery.errors import ReportError
from recovery.extras.row_query import _as_text, _for_matlab
from recovery.store import read
from tests.config.sweeps import write
from tests.invoke import recover, said


@pytest.fixture
def results(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    config = write(tmp_path / "listed.yaml", replicates=4, seed=0, axes={"n": [4, 12], "d": [3]})
    assert recover("sweep", config, "--out", out, "-j", 1, "-q").exit_code == 0
    return out


def test_conditions_pick_rows(results: Path, tmp_path: Path) -> None:
    frame = read(results).frame
    n = int(frame["n"].max())
    wanted = frame[(frame["n"] == n) & (frame["verdict"] == "recovered")]
    done = said("trials", results, "--where", f"n={n} and verdict == 'recovered'", "--limit", 1000)
    assert 0 < len(wanted) < len(frame)
    assert {line.split()[0] for line in done.splitlines()[2:]} == set(wanted["trial_id"])
    for name, load in (("rows.csv", pd.read_csv), ("rows.parquet", pd.read_parquet)):
        recover("trials", results, "--where", f"n={n} and verdict == 'recovered'", "--out", tmp_path / name)
        assert set(load(tmp_path / name)["trial_id"].astype(str)) == set(wanted["trial_id"])


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("verdct = 'recovered'", "did you mean 'verdict'"),
        ("verdict > 3", "no order"),
        ("n = ", "cannot read"),
        ("__import__('os')", "functions are"),
    ],
)
def test_what_is_no_condition_is_refused(results: Path, where: str, words: str) -> None:
    done = recover("trials", results, "--where", where)
    assert (done.exit_code, words in done.stderr) == (2, True)


def test_a_format_that_is_none(results: Path, tmp_path: Path) -> None:
    done = recover("trials", results, "--out", tmp_path / "rows.docx")
    assert (done.exit_code, "allowed: .csv, .parquet" in done.stderr) == (2, True)


def test_rows_as_a_spreadsheet(results: Path, tmp_path: Path) -> None:
    frame = read(results).frame.set_index("trial_id")
    assert recover("trials", results, "--out", tmp_path / "rows.xlsx").exit_code == 0
    sheet = pd.read_excel(tmp_path / "rows.xlsx", dtype={"trial_id": str}).set_index("trial_id")
    assert set(sheet.index) == set(frame.index)
    assert (sheet["n"] == frame["n"].loc[sheet.index]).all()
    assert (sheet["verdict"] == frame["verdict"].loc[sheet.index]).all()
    assert list(map(pd.Timestamp, sheet["started_at"])) == list(frame["started_at"].loc[sheet.index])


def test_rows_as_a_matlab_file(results: Path, tmp_path: Path) -> None:
    frame = read(results).frame
    assert recover("trials", results, "--out", tmp_path / "rows.mat").exit_code == 0
    saved = scipy.io.loadmat(tmp_path / "rows.mat", squeeze_me=True, chars_as_strings=True)
    assert {name.replace(".", "_") for name in frame} == {name for name in saved if not name.startswith("__")}
    assert saved["trial_id"].tolist() == frame["trial_id"].tolist()
    assert saved["n"].tolist() == frame["n"].tolist()
    gaps = pd.to_numeric(frame["gap"]).to_numpy(dtype=float)
    np.testing.assert_array_equal(saved["gap"], gaps)
    assert saved["verdict"][0] == frame["verdict"][0]
    assert pd.Timestamp(saved["started_at"][0]) == frame["started_at"][0]


def test_values_of_a_matlab_file() -> None:
    rows = pd.DataFrame({"a.b": [True, False], "c": pd.array([True, None], "boolean"), "d": ["x", None], "e": [1, 2]})
    made = _for_matlab(rows)
    assert made["a_b"].tolist() == [True, False]
    np.testing.assert_array_equal(made["c"], [1.0, np.nan])
    assert made["d"].tolist() == ["x", ""]
    with pytest.raises(ReportError, match="a_b in MATLAB"):
        _for_matlab(rows.assign(a_b=0))


def test_text_of_a_row_begins_no_formula() -> None:
    rows = pd.DataFrame({"error_message": ["=1+1", "plain", None], "n": [1, 2, 3]})
    assert list(_as_text(rows)["error_message"][:2]) == ["'=1+1", "plain"]
    assert list(_as_text(rows)["n"]) == [1, 2, 3]
