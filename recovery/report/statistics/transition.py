"""The cells of a panel along n and d, and isotonic regression."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from recovery.report.diagram import Diagram, Panel
from recovery.types import Array

SIZES = 40
"""Number of values of d that are fitted one by one: all if there are no more, otherwise evenly spaced ones."""


def poolable(diagram: Diagram) -> bool:
    """Return whether the diagram shows a proportion over n and d, so that a ratio n/d can be fitted."""
    return diagram.proportion and diagram.layout.over_n_and_d


def fitted_values(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of y whose slices are fitted one by one: all, or `SIZES` of them."""
    if len(values) <= SIZES:
        return values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, SIZES).round().astype(int))]


def slices_in_words(panel: Panel, by: str) -> str:
    """Return which slices are fitted in words: `each d`, or `40 of 500 d`."""
    present = list(panel.cells[by].unique())
    fitted = len(fitted_values(present))
    return f"each {by}" if fitted == len(present) else f"{fitted} of {len(present)} {by}"


def numbers(cells: pd.DataFrame, name: str) -> Array:
    """Return a column of the cells as floats."""
    return cells[name].to_numpy(dtype=float)


def rising_blocks(values: Array, weights: Array) -> list[int]:
    """Return the starts of the blocks of the isotonic least-squares fit, and the end of the last block.

    Pools adjacent violators as `scipy.optimize.isotonic_regression` does, to the last bit (Busing 2022). Importing that
    function takes one eighth of the time of a report.
    """
    x, w, ends = values.tolist(), weights.tolist(), list[int]()
    means, sizes = list[float](), list[float]()
    i = 0
    while i < len(x):
        mean, size = x[i], w[i]
        if means and means[-1] >= mean:
            before, weight = means.pop(), sizes.pop()
            ends.pop()
            total, size = weight * before + size * mean, size + weight
            mean = total / size
            while i + 1 < len(x) and mean >= x[i + 1]:
                i += 1
                total, size = total + w[i] * x[i], size + w[i]
                mean = total / size
            while means and means[-1] >= mean:
                before, weight = means.pop(), sizes.pop()
                ends.pop()
                total, size = total + weight * before, size + weight
                mean = total / size
        means.append(mean)
        sizes.append(size)
        i += 1
        ends.append(i)
    return [0, *ends]
