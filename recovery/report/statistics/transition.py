"""The transition of a panel: its values of d, its scaling, and whether success becomes more frequent with n."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from recovery.interval import Interval
from recovery.report.diagram import Diagram, Panel
from recovery.report.statistics.probit import RISE, Counts, fit
from recovery.types import Array

SIZES = 40
"""Number of values of d that are fitted one by one: all if there are no more, otherwise evenly spaced ones."""
FINE = 20_000
"""Number of cells beyond which the exponent and the test of monotonicity use `SIZES` values of d only."""
DRAWS = 400
"""Bootstrap samples of the test that success never becomes rarer."""


def poolable(diagram: Diagram) -> bool:
    """Return whether the diagram shows a proportion over n and d, so that a ratio n/d can be fitted."""
    return diagram.proportion and diagram.layout.over_n_and_d


def fitted_values(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values of y whose slices are fitted one by one: all, or `SIZES` of them."""
    if len(values) <= SIZES:
        return values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, SIZES).round().astype(int))]


def slices_in_words(panel: Panel, by: str) -> str:
    """Return `each d`, or `40 of 500 d`."""
    present = list(panel.cells[by].unique())
    fitted = len(fitted_values(present))
    return f"each {by}" if fitted == len(present) else f"{fitted} of {len(present)} {by}"


def thinned(panel: Panel) -> Panel:
    """Return the panel, restricted to its fitted values of d if it has more than `FINE` cells."""
    if len(panel.cells) <= FINE:
        return panel
    fitted = fitted_values(sorted(panel.cells["d"].unique()))
    return replace(panel, cells=panel.cells[panel.cells["d"].isin(fitted)])


def ratio_counts(cells: pd.DataFrame) -> Counts:
    """Return the decided trials along sqrt n and d / sqrt n."""
    return over_both(cells, numbers(cells, "yes"), numbers(cells, "no"))


def over_both(cells: pd.DataFrame, yes: Array, no: Array, exponent: float = 0.5) -> Counts:
    """Return counts along n^(1 - exponent) and d n^-exponent, whose ratio is n/d."""
    n, d = numbers(cells, "n"), numbers(cells, "d")
    return Counts.of(n ** (1 - exponent), d * n**-exponent, yes, no)


def numbers(cells: pd.DataFrame, name: str) -> Array:
    """Return a column of the cells as floats."""
    return cells[name].to_numpy(dtype=float)


def collapse(panel: Panel) -> Interval | None:
    """Fit the exponent nu with which the curves of all d coincide, P(yes) = Phi(a (n - ratio d) / n^nu).

    Wendel's law has 1/2: its transition is sqrt n wide. None with fewer than two sizes d, or without a transition.
    """
    cells = panel.cells
    if cells["d"].nunique() < 2:
        return None

    yes, no = numbers(cells, "yes"), numbers(cells, "no")

    def deviance(exponent: float) -> float:
        return fit(over_both(cells, yes, no, exponent), intervals=False).deviance

    # Within 1 of Wendel's 1/2. An interval that reaches such an end is unbounded there.
    best = scipy.optimize.minimize_scalar(deviance, bounds=(-0.5, 1.5), method="bounded", options={"xatol": 1e-3})
    # Separated cells fit every exponent with deviance 0.
    if not best.fun > 1e-9:
        return None

    def excess(exponent: float) -> float:
        return deviance(exponent) - float(best.fun) - RISE

    ends = []
    for end in (-0.5, 1.5):
        root = (
            float(scipy.optimize.brentq(excess, best.x, end, xtol=1e-3)) if excess(end) > 0 else np.sign(end) * np.inf
        )
        ends.append(root)
    return Interval(float(best.x), ends[0], ends[1])


def monotone(panel: Panel) -> float:
    """Return the p-value of "success never becomes rarer as n grows", over all d together.

    The statistic is the likelihood ratio of free fractions against isotonic ones. Its distribution is taken from
    `DRAWS` parametric bootstrap samples of the isotonic fit. A small value means that the fraction falls somewhere. NaN
    if no d has two cells.
    """
    rng = np.random.default_rng(0)
    observed, drawn, compared = 0.0, np.zeros(DRAWS), False
    # The ratio is distributed as a mixture of chi-squares that depends on the unknown fractions, hence the bootstrap.
    # The isotonic fit is the member of the null hypothesis closest to the counts.
    for _, there in panel.cells.groupby("d"):
        cells = there[there["yes"] + there["no"] > 0].sort_values("n")
        total = numbers(cells, "yes") + numbers(cells, "no")
        if len(cells) < 2:
            continue
        yes, compared = numbers(cells, "yes"), True
        fitted = _rising(yes, total)
        observed += float(_isotonic_ratio(yes, total, fitted))
        samples = rng.binomial(total.astype(int), fitted, size=(DRAWS, len(total))).astype(float)
        falls = (np.diff(samples / total) < 0).any(axis=1)  # the other samples equal their isotonic fit
        if falls.any():
            nearest = np.array([_rising(sample, total) for sample in samples[falls]])
            drawn[falls] += _isotonic_ratio(samples[falls], total, nearest)
    if not compared:
        return float("nan")
    # The observed counts are one of the samples, which makes the test exact and p positive.
    return float((1 + np.sum(drawn >= observed - 1e-9)) / (1 + DRAWS))


def _rising(yes: Array, total: Array) -> Array:
    """Return the isotonic fractions of maximum likelihood."""
    blocks = rising_blocks(yes / total, total)
    fitted = np.add.reduceat(yes, blocks[:-1]) / np.add.reduceat(total, blocks[:-1])
    return np.clip(np.repeat(fitted, np.diff(blocks)), 0.0, 1.0)


def _isotonic_ratio(yes: Array, total: Array, fitted: Array) -> Array:
    """Return twice the log likelihood ratio of free against fitted fractions, summed over the last axis."""
    free = yes / total
    gain = (
        scipy.special.xlogy(yes, free)
        + scipy.special.xlogy(total - yes, 1 - free)
        - scipy.special.xlogy(yes, fitted)
        - scipy.special.xlogy(total - yes, 1 - fitted)
    )
    return 2 * np.sum(gain, axis=-1)


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
