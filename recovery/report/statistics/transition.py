"""The transition of a panel, slice by slice: where it is, how it scales, and whether success rises."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from recovery.interval import Interval
from recovery.report.diagram import Diagram, Panel
from recovery.report.statistics.model import RISE, Counts, fit
from recovery.types import Array

SIZES = 40
"""Of more sizes d than this, so many are fitted one by one: evenly spaced, with both ends."""
FINE = 20_000
"""Beyond so many cells a panel's exponent and course are estimated at those sizes only, and no slope interval."""
DRAWS = 400
"""Bootstrap samples of the test that success only rises."""


def poolable(diagram: Diagram) -> bool:
    """Whether the diagram is a proportion over n and d, so that a ratio n/d can be fitted."""
    return diagram.proportion and diagram.layout.over_n_and_d


def sizes(panel: Panel) -> list[Any]:
    """The sizes d at which a panel is fitted one by one: all, or `SIZES` of them."""
    values = sorted(panel.cells["d"].unique())
    if len(values) <= SIZES:
        return values
    return [values[i] for i in np.unique(np.linspace(0, len(values) - 1, SIZES).round().astype(int))]


def sizes_in_words(panel: Panel) -> str:
    """`each d`, or `40 of 500 sizes d`."""
    fitted, there = len(sizes(panel)), panel.cells["d"].nunique()
    return "each d" if fitted == there else f"{fitted} of {there} sizes d"


def at_sizes(panel: Panel) -> Panel:
    """The cells of a panel at its `sizes`."""
    return replace(panel, cells=panel.cells[panel.cells["d"].isin(sizes(panel))])


def thinned(panel: Panel) -> Panel:
    """The panel itself; of one with more than `FINE` cells, those at its `sizes`."""
    return at_sizes(panel) if len(panel.cells) > FINE else panel


def by_size(panel: Panel) -> list[tuple[float, Panel]]:
    """(d, the panel's cells there) at each of its `sizes`."""
    groups: list[tuple[Any, pd.DataFrame]] = list(at_sizes(panel).cells.groupby("d"))
    return [(float(d), replace(panel, cells=cells)) for d, cells in groups]


def ratio_counts(cells: pd.DataFrame) -> Counts:
    """The decided trials along sqrt n and d / sqrt n."""
    return over_both(cells, numbers(cells, "yes"), numbers(cells, "no"))


def over_both(cells: pd.DataFrame, yes: Array, no: Array, exponent: float = 0.5) -> Counts:
    """Counts along n^(1 - exponent) and d n^-exponent, whose ratio is n/d."""
    n, d = numbers(cells, "n"), numbers(cells, "d")
    return Counts.of(n ** (1 - exponent), d * n**-exponent, yes, no)


def numbers(cells: pd.DataFrame, name: str) -> Array:
    """A column of the cells as floats."""
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

    # within one of Wendel's 1/2; an interval that reaches such an end is open there
    best = scipy.optimize.minimize_scalar(deviance, bounds=(-0.5, 1.5), method="bounded", options={"xatol": 1e-3})
    # separated cells fit any exponent without a deviance
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
    """p-value of "success never becomes rarer as n grows", all d together.

    The likelihood ratio of free cells against isotonic ones (pool adjacent violators), referred to `DRAWS` parametric
    bootstrap samples from the isotonic fit. Small: some slice falls where it should rise. NaN without two cells.
    """
    rng = np.random.default_rng(0)
    observed, drawn, compared = 0.0, np.zeros(DRAWS), False
    # The law of the ratio, a mixture of chi-squares, depends on the unknown fractions. Hence the bootstrap, from the
    # isotonic fit, which is the point of the null nearest to the counts.
    for _, there in panel.cells.groupby("d"):
        cells = there[there["yes"] + there["no"] > 0].sort_values("n")
        total = numbers(cells, "yes") + numbers(cells, "no")
        if len(cells) < 2:
            continue
        yes, compared = numbers(cells, "yes"), True
        fitted = _rising(yes, total)
        observed += float(_isotonic_ratio(yes, total, fitted))
        samples = rng.binomial(total.astype(int), fitted, size=(DRAWS, len(total))).astype(float)
        falls = (np.diff(samples / total) < 0).any(axis=1)  # the others are their own isotonic fit
        if falls.any():
            nearest = np.array([_rising(sample, total) for sample in samples[falls]])
            drawn[falls] += _isotonic_ratio(samples[falls], total, nearest)
    if not compared:
        return float("nan")
    # what was observed counts as one of the samples: a test of random draws is exact so, and p never 0
    return float((1 + np.sum(drawn >= observed - 1e-9)) / (1 + DRAWS))


def _rising(yes: Array, total: Array) -> Array:
    """The most likely fractions that only rise."""
    blocks = rising_blocks(yes / total, total)
    fitted = np.add.reduceat(yes, blocks[:-1]) / np.add.reduceat(total, blocks[:-1])
    return np.clip(np.repeat(fitted, np.diff(blocks)), 0.0, 1.0)


def _isotonic_ratio(yes: Array, total: Array, fitted: Array) -> Array:
    """2 (log likelihood of free cells - that of fitted ones), summed over the last axis."""
    free = yes / total
    gain = (
        scipy.special.xlogy(yes, free)
        + scipy.special.xlogy(total - yes, 1 - free)
        - scipy.special.xlogy(yes, fitted)
        - scipy.special.xlogy(total - yes, 1 - fitted)
    )
    return 2 * np.sum(gain, axis=-1)


def rising_blocks(values: Array, weights: Array) -> list[int]:
    """Where the blocks of the least squares fit of values that only rise begin, and the end of the last.

    Pooling adjacent violators, as `scipy.optimize.isotonic_regression` does to the last bit (Busing 2022); importing
    that takes an eighth of a report.
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
