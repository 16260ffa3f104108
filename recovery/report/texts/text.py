"""Large tables as CSV and JSON text. Numbers become text column by column in Arrow, shortest form that reads back."""

import csv
import json
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

PIECE = 20_000
"""Entries that are joined at once."""


def csv_text(table: pd.DataFrame) -> str:
    """A header and one line a row; nulls and NaN are empty, text is quoted where it must be."""
    blocks = [",".join(_quoted(str(name)) for name in table)]
    for start in range(0, len(table), PIECE):
        part = table.iloc[start : start + PIECE]
        columns = [_strings(part[name], _quoted).fill_null("") for name in part]
        blocks.append(_joined(pc.binary_join_element_wise(*columns, ","), "\n"))
    return "\n".join(blocks) + "\n"


def json_columns(table: pd.DataFrame) -> str:
    """An object with a list a column, as `pandas.DataFrame` takes them back; infinities are text, NaN is null."""
    fields = [
        f"{json.dumps(str(name))}: [{_joined(_strings(table[name], json.dumps).fill_null('null'), ', ')}]"
        for name in table
    ]
    return "{" + ", ".join(fields) + "}"


def _strings(column: "pd.Series[Any]", written: Any) -> Any:
    """The column as Arrow text: numbers as they are, infinities and anything else as `written` puts them."""
    array = pa.array(column, from_pandas=True)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_integer(array.type):
        return pc.cast(array, pa.string())
    if pa.types.is_floating(array.type):
        text = pc.cast(array, pa.string())
        for value, name in ((np.inf, "inf"), (-np.inf, "-inf")):
            here = pc.equal(array, value)
            if pc.any(here).as_py():
                text = pc.if_else(here, written(name), text)
        return text
    words = pc.dictionary_encode(pc.cast(array, pa.string()))
    return pa.array([written(word) for word in words.dictionary.to_pylist()], pa.string()).take(words.indices)


def _joined(strings: Any, separator: str) -> str:
    """All entries of an array of text as one; in pieces, for Arrow's text is at most 2 GiB long."""
    pieces = [strings.slice(start, PIECE) for start in range(0, len(strings), PIECE)]
    lists = [pa.ListArray.from_arrays(pa.array([0, len(piece)], pa.int32()), piece) for piece in pieces]
    return separator.join(pc.binary_join(one, separator)[0].as_py() for one in lists)


def _quoted(text: str) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="").writerow([text])
    return line.getvalue()
