"""Encoding a user's table as numbers: each kind of column, excluded columns, and the notes about them."""

import numpy as np
import pandas as pd
import pytest

from recovery.errors import DataError
from recovery.extras.user_table import MOST_CATEGORIES, encode, read_table

N = 40


def frame(**columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"y": rng.standard_normal(N), "x": rng.standard_normal(N), **columns})


def said(table):
    return "\n".join((*table.notes, *table.warnings))


def test_numbers_stay_as_they_are():
    data = frame()
    table = encode(data, "y")
    assert table.names == ("x",)
    np.testing.assert_array_equal(table.X[:, 0], data["x"])
    np.testing.assert_array_equal(table.y, data["y"])
    assert said(table) == ""


def test_text_becomes_one_column_a_category_and_belongs_together():
    table = encode(frame(shop=["a", "b", "b", None] * (N // 4), flag=[True, False] * (N // 2)), "y")
    assert table.names == ("x", "shop", "flag")
    assert table.groups.tolist() == [0, 1, 1, 1, 2]
    np.testing.assert_array_equal(table.X[:4, 1:4].sum(axis=1), 1.0)
    assert "2 categories, and 10 gaps as one more" in said(table)


def test_rare_categories_share_a_column():
    words = [f"w{i % (MOST_CATEGORIES + 3)}" for i in range(4 * N)]
    data = pd.concat([frame()] * 4, ignore_index=True).assign(word=words, y=np.arange(4.0 * N) % 7)
    table = encode(data, "y")
    assert (table.groups == 1).sum() == MOST_CATEGORIES + 1
    assert "3 rarest are one" in said(table)


def test_gaps_and_infinities_are_filled_with_the_median_and_marked():
    values = [1.0, 2.0, 6.0, np.nan] * (N // 4)
    values[0] = np.inf
    table = encode(frame(z=values), "y")
    assert table.groups.tolist() == [0, 1, 1]
    np.testing.assert_array_equal(table.X[:5, 2], [2.0, 2.0, 6.0, 2.0, 1.0])
    np.testing.assert_array_equal(table.X[:5, 1], [1.0, 0.0, 0.0, 1.0, 0.0])
    assert "'z' has 11 gaps: filled with the median 2" in said(table)


def test_times_are_days():
    table = encode(frame(when=pd.date_range("2020-01-01", periods=N)), "y")
    np.testing.assert_array_equal(table.X[:, 1], np.arange(N))


def test_dates_of_a_csv_file_are_days(tmp_path):
    days = pd.date_range("2024-01-01", periods=30).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": days, "text": [f"{word}-01-01" for word in "ab" * 15], "y": np.arange(30.0) ** 2})
    frame.loc[3, "day"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = read_table(tmp_path / "t.csv", "y")
    assert any("'day' is a time" in note for note in found.notes)
    assert found.X[4, np.flatnonzero(found.groups == 0)[-1]] == 4.0
    assert any("'text' is text: 2 categories" in note for note in found.notes)


def test_identifiers_are_named_and_left_out_unless_kept():
    data = frame(id=np.arange(100, 100 + N)[::-1], name=[f"n{i}" for i in range(N)])
    table = encode(data, "y")
    assert table.names == ("x",)
    assert "'id' is left out: it numbers the rows (100 to 139)" in said(table)
    assert "'name' is left out: it names the rows (40 different entries" in said(table)
    assert encode(data, "y", keep=["id"]).names == ("x", "id")
    data.loc[3, "y"] = np.nan  # a gap in the numbers of the rows that stay hides nothing
    assert "'id' is left out" in said(encode(data, "y"))


def test_constant_and_empty_columns_are_left_out():
    table = encode(frame(one=1, empty=np.nan, same="s", later=[0] * (N - 1) + [1]), "y")
    assert table.names == ("x", "later")
    assert said(table).count("it has one value") == 3


def test_a_copy_of_the_target_is_warned_of():
    data = frame()
    table = encode(data.assign(z=3 - 2 * data["y"]), "y")
    assert "'z' is the target in other units" in table.warnings[0]
    assert encode(data.assign(z=data["y"]), "y", drop=["z"]).names == ("x",)


def test_rows_without_a_target_are_left_out():
    data = frame()
    data.loc[[1, 5], "y"] = np.nan
    table = encode(data, "y")
    assert len(table.y) == N - 2
    assert "2 rows without 'y' left out" in said(table)


def test_what_cannot_be_studied_is_said():
    data = frame(word=(["a", "b", "c"] * N)[:N], flat=1)
    for target, message in [
        ("word", "holds 3 classes: a, b, c;"),
        ("flat", "is 1 in every row"),
        ("z", "no column 'z'"),
    ]:
        with pytest.raises(DataError, match=message):
            encode(data, target)
    with pytest.raises(DataError, match="1 row with a 'y'; at least 20"):
        encode(data[:1], "y")
    with pytest.raises(DataError, match="5 rows with a 'y'; at least 20"):
        encode(data[:5], "y")
    with pytest.raises(DataError, match="no usable column besides 'y'"):
        encode(data, "y", drop=["x", "word"])


def test_files_that_cannot_be_read_are_said(tmp_path):
    for name, text, message in [("a.txt", "", "unknown file type"), ("b.csv", "", "cannot be read")]:
        (tmp_path / name).write_text(text)
        with pytest.raises(DataError, match=message):
            read_table(tmp_path / name, "y")
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "c.csv", "y")
    frame().to_parquet(tmp_path / "d.parquet")
    assert read_table(tmp_path / "d.parquet", "y").names == ("x",)
