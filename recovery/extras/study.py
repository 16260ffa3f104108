"""Selection on one table: every selector's choice, how stable it is over splits, and how well each predicts."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from recovery.errors import ParameterError
from recovery.selection.selectors import Selector
from recovery.types import Array, Index, Mask, Rng

TRAINING_SHARE = 0.8
"""Each split fits on this share of the rows and predicts the others, unless told how many rows."""


@dataclass(frozen=True)
class SelectorChoice:
    """What one selector chose among g variables.

    importances (g,), the largest 1; chosen (g,); frequency (g,): the share of splits in which a variable was chosen.
    rmse, r2: of the predictions on the rows left out, one a split: the root of the mean squared error, and
    1 - mean squared error / variance.
    """

    selector: str
    importances: Array
    chosen: Mask
    frequency: Array
    rmse: Array
    r2: Array


def study(
    rng: Rng,
    X: Array,
    y: Array,
    groups: Index,
    selectors: Iterable[Selector],
    splits: int,
    rows: int | None = None,
) -> Iterator[SelectorChoice]:
    """Each selector on all rows, then with its chosen hyperparameters on `splits` random parts of `rows` rows.

    All selectors meet the same splits. Raises `ParameterError` where `rows` leave fewer than two to predict, and
    `DataError` where something cannot be fitted.
    """
    drawing, fitting = rng.spawn(2)
    size = round(TRAINING_SHARE * len(X)) if rows is None else rows
    if size > len(X) - 2:
        raise ParameterError(f"{size} of {len(X)} rows leave fewer than two to predict")
    orders = [drawing.permutation(len(X)) for _ in range(splits)]
    for selector in selectors:
        whole = selector(fitting, X, y, groups)
        again = selector.only(whole.fitted.hyperparameters)
        chosen = np.zeros((splits, len(whole.chosen)), np.bool_)
        squares, variances = np.zeros((2, splits))
        for i, order in enumerate(orders):
            kept, left = order[:size], order[size:]
            part = again(fitting, X[kept], y[kept], groups)
            chosen[i] = part.chosen
            squares[i] = np.mean((part.fitted.predict(X[left]) - y[left]) ** 2)
            variances[i] = max(y[left].var(), np.finfo(float).tiny)
        largest = whole.importances.max()
        yield SelectorChoice(
            selector.name,
            whole.importances / (largest if largest > 0 else 1.0),
            whole.chosen,
            chosen.mean(axis=0),
            np.sqrt(squares),
            1.0 - squares / variances,
        )
