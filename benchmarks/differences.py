"""Do the intervals of a comparison cover? Pairs of sweeps are drawn from two curves each, and compared.

    python -m benchmarks.differences [--pairs 300] [--law same ...] [--replicates 5 20] [--jobs 1]

n = 10, 20, ..., 400 (in half of the pairs 20, 40, ..., 400) and ten values of d. Both trials of a pair use one normal
variable with correlation 0, 0.6 or 1, as two methods on the same draws do. Per law and number of replicates: how often
the 95 % intervals of the difference cover, and their mean half width.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.special import ndtr

from benchmarks import arguments, table, written
from benchmarks.truths import CURVES, OFF, SIZES, N
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics.differences import threshold_differences
from recovery.report.statistics.proportions import paired_difference
from recovery.types import Array

Law = tuple[str, float, str, float, float]
LAWS: dict[str, Law] = {
    "same": ("wendel", 2.0, "wendel", 2.0, 0.6),
    "shifted": ("wendel", 2.0, "wendel", 2.23, 0.6),
    "independent": ("wendel", 2.0, "wendel", 1.71, 0.0),
    "comonotone": ("wendel", 2.0, "wendel", 2.17, 1.0),
    "wide and narrow": ("logistic", 2.03, "wendel", 1.61, 0.6),
    "skewed": ("skewed", 2.0, "gompertz", 2.4, 0.6),
    "steps": ("step", 1.93, "step", 2.07, 1.0),
    "plateau": ("plateau", 2.0, "two steps", 2.3, 0.6),
}
"""Curve and ratio of the first and of the second sweep, and the correlation of their trials."""
RATIO = ThresholdAxis()


def outcomes(law: Law, replicates: int, seed: int) -> tuple[pd.DataFrame, Array, Array]:
    """Return one row per grid cell with counts of both sweeps and of the pairs, and the probabilities of both."""
    first, ratio, second, other, correlation = law
    rng = np.random.default_rng([int(100 * other), int(10 * correlation), replicates, seed])
    n, d = np.meshgrid(N[1::2] if seed % 4 > 1 else N, SIZES if seed % 2 else OFF)
    n, d = n.ravel(), d.ravel()
    chances = [np.clip(CURVES[name](n, d, r), 0, 1) for name, r in ((first, ratio), (second, other))]
    common, alone = rng.standard_normal((2, replicates, len(n)))
    mixed = correlation * common + np.sqrt(1 - correlation**2) * alone
    yes = [ndtr(z) < chance for z, chance in zip((common, mixed), chances, strict=True)]
    counts = {"first": yes[0].sum(axis=0), "second": yes[1].sum(axis=0), "both": (yes[0] & yes[1]).sum(axis=0)}
    counts["neither"] = (~yes[0] & ~yes[1]).sum(axis=0)
    return pd.DataFrame({"n": n, "d": d, "trials": replicates, **counts}), chances[0], chances[1]


def panel(cells: pd.DataFrame, side: str) -> Panel:
    """Return the counts of one sweep as a panel."""
    no = cells["trials"] - cells[side]
    counted = cells[["n", "d"]].assign(yes=cells[side], no=no, missing=0, failed=0, undecided=0, undefined=0)
    return Panel(side, {}, counted, sorted(cells["n"].unique()), sorted(cells["d"].unique()))


def judged(law: Law, replicates: int, seed: int) -> dict[str, float]:
    """Compare one pair of sweeps, and return whether each interval covers."""
    cells, first, second = outcomes(law, replicates, seed)
    found = threshold_differences(panel(cells, "first"), panel(cells, "second"), RATIO, cells, 0.95)
    true = law[3] - law[1]
    pooled = found[0].difference
    sizes = [one for one in found if not one.pooled]
    inside = [one.difference.low <= true * one.y <= one.difference.high for one in sizes]
    first_n, last_n = cells["n"].min(), cells["n"].max()
    within = [one.difference for one in sizes if first_n <= law[1] * one.y <= last_n >= law[3] * one.y >= first_n]
    given = [one for one in sizes if one.difference.bounded]
    gained, lost = cells["second"] - cells["both"], cells["first"] - cells["both"]
    low, high = paired_difference(gained, lost, cells["trials"])
    all_low, all_high = paired_difference(gained.sum(), lost.sum(), cells["trials"].sum())
    return {
        "pooled": float(pooled.low <= true <= pooled.high),
        "half": (pooled.high - pooled.low) / 2,
        "slices": float(np.mean(inside)),
        "slice_half": float(np.mean([(one.difference.high - one.difference.low) / 2 / one.y for one in given])),
        "withheld": float(np.mean([not one.known for one in within])),
        "open": float(np.mean([not one.bounded for one in within])),
        "cells": float(np.mean((low <= second - first) & (second - first <= high))),
        "overall": float(all_low <= (second - first).mean() <= all_high),
        "overall_half": float(all_high - all_low) / 2,
    }


COLUMNS = (
    *("law", "replicates", "pooled", "half", "slices", "slice half", "withheld", "open", "cells"),
    *("overall", "overall half"),
)
NOTE = """
- `pooled`: the interval of the difference in n/d covers. `half`: its mean half width. `slices`: the same for n50 at
  each d, with the half width divided by d where both ends are finite.
- `withheld`, `open`: slices without an estimate, and intervals with an infinite end, among the slices whose crossings
  both lie between the first and the last n.
- `cells`, `overall`: the intervals of the difference in success, per grid cell and over all cells.
"""


def rows(laws: Sequence[str], replicates: Sequence[int], pairs: int, jobs: int) -> Iterator[list[object]]:
    """Yield the cells of each row: means over the pairs."""
    with ProcessPoolExecutor(jobs) as pool:
        for count, law in product(replicates, laws):
            found = pd.DataFrame(pool.map(partial(judged, LAWS[law], count), range(pairs), chunksize=10))
            yield [law, count, *(f"{value:.3f}" for value in found.mean())]


if __name__ == "__main__":
    given = arguments(__doc__, law=tuple(LAWS), replicates=(1, 2, 5, 20), pairs=300, jobs=1)
    head = f"Intervals of the differences between two sweeps on the same draws: {given.pairs} pairs of sweeps per row."
    lines = table(COLUMNS, rows(given.law, given.replicates, given.pairs, given.jobs))
    written(__file__, [head, "", *lines, NOTE])
