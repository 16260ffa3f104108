"""Differences between two sides over groups of grid cells: each cell, each slice, or all cells."""

import numpy as np
import pandas as pd
import scipy

from recovery.interval import LEVEL
from recovery.report.statistics.proportions import mcnemar, paired_difference, unpaired_difference
from recovery.report.statistics.samples import median_interval


def paired_summary(rows: pd.DataFrame, names: list[str], proportion: bool, tolerance: float | None) -> pd.DataFrame:
    """Return the differences over each group of pairs with the same values of `names`; one row over all without names.

    rows: one row per pair, with `value_first` and `value_second`. gained, lost: the numbers of pairs in which the
    second or the first value is larger. p: the exact sign test on these pairs, which is McNemar's for an event. An
    event also has the numbers `both` and `neither` of pairs. For a number, first, second and difference are medians,
    with the largest difference, the largest relative to the larger absolute value of its pair, and with a tolerance
    the number of pairs that differ by more.
    """
    one, two = rows["value_first"].to_numpy(dtype=float), rows["value_second"].to_numpy(dtype=float)
    # equal values have the difference 0; subtracting them would give NaN if both are infinite
    moved = np.subtract(two, one, where=one != two, out=np.zeros(len(rows)))
    groups = rows[names].assign(first=one, second=two, gained=two > one, lost=two < one, moved=moved)
    how = "mean" if proportion else "median"
    sums = {"first": ("first", how), "second": ("second", how), "trials": ("gained", "size")}
    sums |= {"gained": ("gained", "sum"), "lost": ("lost", "sum"), "difference": ("moved", how)}
    if proportion:
        groups = groups.assign(both=(one == 1) & (two == 1), neither=(one == 0) & (two == 0))
        sums |= {"both": ("both", "sum"), "neither": ("neither", "sum")}
    else:
        size = np.maximum(np.abs(one), np.abs(two))
        relative = np.divide(np.abs(moved), size, where=np.isfinite(size) & (size > 0), out=np.zeros(len(rows)))
        groups = groups.assign(largest=np.abs(moved), largest_relative=relative)
        sums |= {name: (name, "max") for name in ("largest", "largest_relative")}
        if tolerance is not None:
            groups = groups.assign(beyond=np.abs(moved) > tolerance)
            sums |= {"beyond": ("beyond", "sum")}
    grouped = groups.groupby(names or np.zeros(len(rows)), dropna=False)
    cells = grouped.agg(**sums).reset_index(drop=not names)
    counts = cells[["gained", "lost"]].to_numpy(dtype=int).tolist()
    if proportion:
        low, high = paired_difference(cells["gained"], cells["lost"], cells["trials"])
    else:
        ends = [median_interval(part.to_numpy()) for _, part in grouped["moved"]]
        low, high = (np.array([getattr(one, end) for one in ends]) for end in ("low", "high"))
    return cells.assign(low=low, high=high, level=LEVEL, p=[mcnemar(gained, lost) for gained, lost in counts])


def unpaired_summary(rows: pd.DataFrame, names: list[str], proportion: bool) -> pd.DataFrame:
    """Return the differences over each group of grid cells with the same values of `names`; one row without names.

    rows: one row per grid cell, with first, second and the counts of each side. p: Fisher's exact test, for an event
    in a single cell. Numbers have neither an interval nor a test. For several cells, first and second are means over
    the cells, and the difference of an event has the weights of Mantel and Haenszel.
    """
    trials = rows[["size_first", "size_second"]].min(axis=1)
    moved = rows.assign(difference=rows["second"] - rows["first"], trials=trials)
    grouped = moved.groupby(names or np.zeros(len(rows)), dropna=False)
    sums = {"first": "mean", "second": "mean", "difference": "median", "trials": "sum"}
    cells = grouped[list(sums)].agg(sums).reset_index(drop=not names)
    cells = cells.assign(low=np.nan, high=np.nan, level=LEVEL, p=np.nan)
    if not proportion:
        return cells
    yes, total = (rows[[f"{name}_first", f"{name}_second"]].to_numpy(dtype=float).T for name in ("sum", "size"))
    difference, low, high = unpaired_difference(yes, total, np.asarray(grouped.ngroup(), dtype=np.intp))
    cells = cells.assign(difference=difference, low=low, high=high)
    if len(cells) == len(rows):
        cells["p"] = [scipy.stats.fisher_exact(np.array([a, b - a]).T)[1] for a, b in zip(yes.T, total.T, strict=True)]
    return cells
