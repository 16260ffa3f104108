"""Savings of boundary sampling, and coverage of its intervals.

    python -m benchmarks.sampling [--repetitions 500] [--seed 0]

1. In the stored rows of `p1-fig06-boundary`: n50 of the probit curve that places trials at every
   d, its standard error in per cent and its 95 % interval.
2. Trials that a uniform sweep on the grid of Figure 6 needs for 0.5 % on every slice, by Wendel's law.
3. Simulated on Wendel's law, whose n50 is 2d exactly: coverage, bias, spread and mean standard error of n50 where
   trials are placed in rounds. Once with n50 on the grid of n, once between two of its values; the probit model
   causes the bias with infinitely many trials at the same places.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchmarks import HERE, arguments, table, written
from recovery.report.diagram import Diagram
from recovery.report.statistics.differences import QUANTILE
from recovery.sampling.placement import Slice, Transition, covariance, estimate, place
from recovery.store import read
from recovery.theory import CURVES
from recovery.types import Array

GRID = HERE.parent / "results" / "papers" / "p1-fig06-boundary"
TARGET = 0.005
N = np.arange(10.0, 401.0, 10.0)
MANY = 1e6
SIMULATED, REPLICATES, ROUNDS, BUDGET = (10, 20, 50, 100), 4, 6, 9000
"""The simulated sweep: its d, the replicates of its first round, its rounds and its trials."""


def fitted(n: Array, yes: Array, no: Array) -> Transition:
    """The transition of a slice that has one."""
    found = estimate(n, yes, no)
    assert found is not None
    return found


def reach(found: Transition) -> Array:
    """The ends of the 95 % interval of n50."""
    ends: Array = found.half + QUANTILE * found.error * np.array([-1, 1])
    return ends


def measured(diagram: Diagram) -> Iterator[list[str]]:
    """Yield the cells of each slice of a stored sweep."""
    (panel,) = diagram.panels
    sizes: list[tuple[Any, pd.DataFrame]] = list(panel.cells.groupby("d"))
    for d, cells in sizes:
        n, yes, no = (cells[name].to_numpy(dtype=float) for name in ("n", "yes", "no"))
        found = fitted(n, yes, no)
        low, high = reach(found)
        error, interval = 100 * found.error / found.half, f"{low:.2f} to {high:.2f}"
        yield [f"{d:g}", f"{found.half:.2f}", f"{error:.3f}", interval, f"{found.slope:.2f}", f"{(yes + no).sum():.0f}"]


def needed(d: int) -> float:
    """Replicates of every n of the grid at which n50 has a standard error of 0.5 %, with n50 = 2d and slope 1."""
    return float(covariance(N, np.ones(len(N)), 2.0 * d, 1.0)[0, 0]) / (TARGET * 2 * d) ** 2


def sample(n: Array, sizes: tuple[int, ...], rng: np.random.Generator) -> list[tuple[Array, Transition]]:
    """Return the trials at each n, and the fit, of each slice of a boundary sweep over Wendel's law."""
    chances = [1 - CURVES["wendel"].function(n, d) for d in sizes]
    yes = [rng.binomial(REPLICATES, chance).astype(float) for chance in chances]
    no = [REPLICATES - one for one in yes]
    left = BUDGET - REPLICATES * len(n) * len(sizes)
    for coming in range(ROUNDS - 1, 0, -1):
        placed = place([Slice(n, *counts) for counts in zip(yes, no, strict=True)], left // coming)
        left -= left // coming
        for i, (_, added) in enumerate(placed):
            more = rng.binomial(added, chances[i])
            yes[i], no[i] = yes[i] + more, no[i] + added - more
    return [(y + m, fitted(n, y, m)) for y, m in zip(yes, no, strict=True)]


def simulate(n: Array, repetitions: int, seed: int) -> Iterator[list[str]]:
    """Yield the cells of a row per d."""
    rng = np.random.default_rng(seed)
    drawn = [sample(n, SIMULATED, rng) for _ in range(repetitions)]
    for d, column in zip(SIMULATED, zip(*drawn, strict=True), strict=True):
        halves, errors = np.array([(found.half, found.error) for _, found in column]).T
        covered = sum(low <= 2 * d <= high for low, high in (reach(found) for _, found in column))
        low, high = binomtest(covered, repetitions).proportion_ci()
        trials = np.mean([counts for counts, _ in column], axis=0)
        chance = 1 - CURVES["wendel"].function(n, d)
        limit = fitted(n, MANY * trials * chance, MANY * trials * (1 - chance)).half
        bias, model = (100 * (half / (2 * d) - 1) for half in (halves.mean(), limit))
        spread = 100 * halves.std() / (2 * d)
        yield [
            f"{d}",
            f"{covered / repetitions:.3f} ({low:.3f} to {high:.3f})",
            f"{bias:+.3f} ± {spread / np.sqrt(repetitions):.3f}",
            f"{model:+.3f}",
            *(f"{spread:.3f}", f"{100 * np.mean(errors / halves):.3f}", f"{trials.sum():.0f}"),
        ]


def main() -> None:
    given = arguments(__doc__, repetitions=500, seed=0)
    heads = ("d", "n50", "s.e. %", "95 % interval", "slope", "trials")
    lines = [*table(heads, measured(Diagram.of(read(GRID)))), ""]
    wanted = [needed(d) for d in range(10, 101, 10)]
    trials = f"{wanted[0] * len(N) * len(wanted):.3g} trials"
    lines += [f"A uniform sweep needs {wanted[0]:.0f} replicates of each cell for 0.5 % at d = 10, {trials};"]
    lines += ["at the other d " + ", ".join(f"{count:.0f}" for count in wanted[1:])]
    columns = ("d", "coverage", "bias %", "of the model", "spread %", "mean s.e. %", "trials")
    for name, n in (("n = 10, 20, ..., 400", N), ("n = 15, 25, ..., 405", N + 5)):
        lines += ["", name, "", *table(columns, simulate(n, given.repetitions, given.seed))]
    written(__file__, lines)


if __name__ == "__main__":
    main()
