"""Untidy tables: read with a note about each change, or refused with a message instead of a traceback."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from recovery.cli.main import main
from recovery.errors import DataError
from recovery.extras.user_table import encode, read_table
from recovery.instances.files import read_columns

N = 30
ROWS = "".join(f"{i * i % 17},{i % 5},{i * 7 % 11}\n" for i in range(N))


def table(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.standard_normal(N), "y": rng.standard_normal(N), **columns})


def said(found):
    return "\n".join((*found.notes, *found.warnings))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,x,y\n" + ROWS, "2 columns are called 'x'"),
        ("x,y,y\n" + ROWS, "2 columns are called 'y'"),
        ("x,y\n1,2\n", "has 1 row with a 'y'; at least 20"),
        ("x,y\n", "has 0 rows with a 'y'"),
        ("\n\n", "cannot be read as csv: No columns"),
        ("x,y\n1,2\n1,2,3\n", "cannot be read as csv: Expected 2 fields in line 3, saw 3"),
        ("x,y\n" + "".join(f"r{i},{i},{i}\n" for i in range(N)), "more entries than its header"),
        ('x,y\n"1,2\n', "cannot be read as csv: EOF inside string"),
        ("x,y,z\n" + ROWS.replace("0,", "a,"), "the target 'y' holds 5 classes: .*a.*; it must be a number"),
        ("x,z,a\n" + ROWS, "has no column 'y'; it has x, z, a"),
        ("x,y\n".encode("utf-16"), "it is not UTF-8 text; save it as UTF-8"),
        ("\xe9,x,y\n".encode("latin-1"), "it is not UTF-8 text"),
    ],
)
def test_a_csv_file_that_cannot_be_studied_is_refused(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        read_table(path, "y")


@pytest.mark.parametrize(
    "style", [{"sep": ";", "decimal": ","}, {"sep": "\t"}, {"encoding": "utf-8-sig"}, {"sep": ";"}, {"header": False}]
)
def test_other_ways_to_write_a_csv_file_are_the_same_table(tmp_path, style):
    table()[["y", "x"]].to_csv(tmp_path / "t.csv", index=False, **style)
    found = read_table(tmp_path / "t.csv", "y" if style.get("header", True) else "1")
    np.testing.assert_allclose(np.column_stack([found.X[:, 0], found.y]), table().to_numpy())


def test_a_comma_in_a_text_is_no_decimal_comma(tmp_path):
    notes = table()[["y", "x"]].assign(note=["near, far", "no; not 1,5", "b"] * (N // 3))
    notes.to_csv(tmp_path / "t.csv", index=False, sep=";")
    found = read_table(tmp_path / "t.csv", "y")
    assert found.names == ("x", "note")
    np.testing.assert_array_equal(found.X[:, 0], notes["x"])


def test_a_first_row_with_a_gap_is_data(tmp_path):
    (tmp_path / "t.csv").write_text("1.5,,2.5\n" + ROWS)
    found = read_table(tmp_path / "t.csv", "1")
    assert (found.names, found.y[0], len(found.y)) == (("2", "3"), 1.5, N + 1)
    assert "'2' has 1 gap" in said(found)


def test_only_a_first_column_without_a_name_is_taken_for_an_index(tmp_path):
    rows = "".join(f"{i * i},{i}\n" for i in range(6))
    (tmp_path / "t.csv").write_text("a,1\n" + rows)
    assert read_columns(tmp_path / "t.csv").warnings == ("column '1' numbers the rows; --exclude '1' leaves it out",)
    (tmp_path / "t.csv").write_text(",a\n" + "".join(f"{i},{i * i}\n" for i in range(6)))
    with pytest.raises(DataError, match="its first column has no name and numbers the rows"):
        read_columns(tmp_path / "t.csv")


def test_names_that_a_terminal_would_obey_are_made_harmless(tmp_path):
    (tmp_path / "t.csv").write_text('"a\x1b[31m","c\nd",y\n' + ROWS)
    assert read_table(tmp_path / "t.csv", "y").names == ("a?[31m", "c d")


def test_two_columns_of_one_name_are_refused_by_every_reader(tmp_path):
    (tmp_path / "t.csv").write_text("x,x,y\n" + ROWS)
    with pytest.raises(DataError, match="2 columns are called 'x'"):
        read_columns(tmp_path / "t.csv")
    with pytest.raises(DataError, match="two columns called '1'"):
        encode(table().set_axis([1, "1"], axis=1), "1")


def test_types_of_parquet(tmp_path):
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i * i) for i in range(N)]
    frame = table(
        lists=[[1, 2]] * N,
        mappings=[{"a": 1}] * N,
        price=[Decimal(i) / 7 for i in range(N)],
        day=days,
        when=pd.date_range("2020", periods=N, tz="Europe/Rome"),
        span=pd.to_timedelta(np.arange(N) ** 2, unit="h"),
        id=pd.array([None, *range(N - 1)], dtype="Int64"),
        flag=pd.array([None] + [True, False] * (N // 2 - 1) + [True], dtype="boolean"),
        kind=pd.Categorical([1, 2, 3] * (N // 3)),
        big=np.arange(N).astype(np.uint64) + 2**63,
        nothing=[None] * N,
    )
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", "y", keep=["lists"])
    assert found.names == ("x", "price", "day", "when", "span", "flag", "kind")
    for text in (
        "'lists' is left out: it holds lists or mappings",
        "'mappings' is left out: it holds lists or mappings",
        "'day' is a time",
        "'id' is left out: it numbers the rows (0 to 28)",
        "'big' is left out: it numbers the rows (9223372036854775808 to",
        "'nothing' is left out: it has one value",
        "'flag' has 1 gap: filled",
    ):
        assert text in said(found)
    last = {name: found.X[:, np.flatnonzero(found.groups == i)[-1]] for i, name in enumerate(found.names)}
    np.testing.assert_allclose(last["price"], np.arange(N) / 7)
    np.testing.assert_allclose(last["day"], np.arange(N) ** 2)
    np.testing.assert_allclose(last["span"], np.arange(N) ** 2 / 24)
    with pytest.raises(DataError, match="the target 'lists' holds no numbers"):
        read_table(tmp_path / "t.parquet", "lists")


def test_numbers_that_no_fit_can_hold_are_refused():
    z = np.random.default_rng(1).standard_normal(N)
    for scale in (1e300, 1e-310):
        with pytest.raises(DataError, match=r"the largest entry of 'z' is .*; write it in other units"):
            encode(table(z=scale * z), "y")
        with pytest.raises(DataError, match="the largest entry of 'y'"):
            encode(table().assign(y=scale * z), "y")
    wide = encode(table(z=2**60 + np.arange(N) % 2), "y")  # equal as doubles
    assert "'z' is left out: it has one value" in said(wide)


def test_a_target_full_of_gaps_and_a_constant_one_are_refused():
    with pytest.raises(DataError, match="0 rows with a 'y'"):
        encode(table().assign(y=np.nan), "y")
    with pytest.raises(DataError, match="'y' is 1 in every row"):
        encode(table().assign(y=True), "y")


def test_dates_that_are_none_become_gaps():
    found = encode(table(d=["9999-12-31", "2020-02-30", "0001-01-01"] * (N // 3)), "y")
    assert "'d' has 10 gaps" in said(found)
    assert np.isfinite(found.X).all()


def test_copies_of_rows_are_counted():
    found = encode(pd.concat([table()] * 2), "y")
    assert f"copies of other rows: {N}" in said(found)
    assert "copies" not in said(encode(table(), "y"))


def test_more_columns_than_there_are_cannot_be_chosen(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    found = CliRunner().invoke(main, ["select", str(tmp_path / "t.csv"), "--target", "y", "--count", "2"])
    assert found.exit_code == 2
    assert "--count 2 is more than the 1 columns of the table" in found.output
