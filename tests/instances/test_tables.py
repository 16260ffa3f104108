"""A matrix in a file, as other programs write it: read as it is, or refused with the reason."""

import numpy as np
import pandas as pd
import pytest

from recovery.errors import DataError
from recovery.instances.files import read_columns

X = np.random.default_rng(0).standard_normal((9, 2))
TABLE = pd.DataFrame(X, columns=["x", "y"])


@pytest.mark.parametrize(
    "style", [{"sep": ";", "decimal": ","}, {"sep": "\t"}, {"encoding": "utf-8-sig"}, {"sep": ";"}, {"header": False}]
)
def test_other_ways_to_write_a_csv_file_are_the_same_matrix(tmp_path, style):
    TABLE.to_csv(tmp_path / "t.csv", index=False, **style)
    found = read_columns(tmp_path / "t.csv")
    np.testing.assert_allclose(found.X, X)
    assert found.names == (("x", "y") if style.get("header", True) else ("1", "2"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x,x\n1,2\n", "2 columns are called 'x'"),
        ("\n\n", "cannot be read as csv: it is empty"),
        ("x,y\n1,2\n1,2,3\n", "cannot be read as csv: line 3 has 3 entries, and line 1 has 2"),
        ("x,y\nr,1,2\ns,3,4\n", "line 2 has 3 entries, and line 1 has 2"),
        ('x,y\n"1,2\n', "cannot be read as csv: unexpected end of data"),
        ("x,y\n".encode("utf-16"), "it is not UTF-8 text; save it as UTF-8"),
    ],
)
def test_a_csv_file_that_is_no_matrix_is_refused(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message):
        read_columns(path)


def test_a_saved_index_is_refused(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv")
    with pytest.raises(DataError, match="first column has no name and numbers the rows"):
        read_columns(tmp_path / "t.csv")
