"""Tables as CSV and JSON read back unchanged."""

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from recovery.report.texts.tables import PIECE, csv_text, json_columns


def table(numbers: list[float], words: list[str]) -> pd.DataFrame:
    size = min(len(numbers), len(words))
    return pd.DataFrame({"x": numbers[:size], "n": range(size), "word, with comma": words[:size]})


@given(st.lists(st.floats(), min_size=1), st.lists(st.text(min_size=1).filter(lambda s: "\0" not in s), min_size=1))
def test_tables_read_back_as_they_were(numbers: list[float], words: list[str]) -> None:
    made = table(numbers, words)
    content = json.loads(json_columns(made), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    np.testing.assert_array_equal([np.nan if v is None else float(v) for v in content["x"]], made["x"])
    assert content["word, with comma"] == made["word, with comma"].tolist()
    assert content["n"] == made["n"].tolist()


def test_csv_quotes_what_must_be_and_leaves_nulls_empty() -> None:
    made = pd.DataFrame({"a": [0.1, np.nan, 1e-300, np.inf], "b": ["x", 'say "hi"', "1,2", None], "c,": [1, 2, 3, 4]})
    lines = csv_text(made)
    assert lines.splitlines()[0] == '"a","b","c,"'
    again = pd.read_csv(StringIO(lines))
    pd.testing.assert_frame_equal(again, made, check_dtype=False)
    assert lines.splitlines()[2] == ',"say ""hi""",2'


def test_long_and_empty_tables_are_joined() -> None:
    made = pd.DataFrame({"x": np.arange(PIECE * 2 + 3)})
    assert json.loads(json_columns(made))["x"] == made["x"].tolist()
    assert csv_text(made.iloc[:0]) == '"x"\n'
    assert json.loads(json_columns(made.iloc[:0])) == {"x": []}
