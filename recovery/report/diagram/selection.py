"""Which panels of a diagram a claim is about: those whose rows all have the coordinates that it names."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from recovery.report.diagram.diagram import Diagram
from recovery.types import Mask


def panels_where(diagram: Diagram, where: Mapping[str, Any]) -> list[int]:
    """The numbers of the panels in which every row has these coordinates."""
    wanted = np.ones(len(diagram.frame), dtype=np.bool_)
    for name, value in where.items():
        wanted &= has(diagram.frame, name, value)
    strange = diagram.cells.count(~wanted) > 0
    return [i for i, panel in enumerate(diagram.panels) if not strange[panel.cells.index].any()]


def has(frame: pd.DataFrame, path: str, wanted: Any) -> Mask:
    """Which rows have a coordinate's value; an axis path or its last part names the column."""
    name = column_of(frame, path)
    if name is None:
        return np.zeros(len(frame), dtype=np.bool_)
    values = frame[name].unique()
    same = [value for value in values if str(value) == str(wanted) or _same_number(value, wanted)]
    result: Mask = frame[name].isin(same).to_numpy(dtype=np.bool_)
    return result


def column_of(frame: pd.DataFrame, path: str) -> str | None:
    """The column that a coordinate's path names."""
    return next((name for name in (path, path.split(".")[-1]) if name in frame), None)


def _same_number(a: Any, b: Any) -> bool:
    try:
        return float(a) == float(b)
    except (TypeError, ValueError):
        return False
