"""Savings of boundary sampling, and coverage of its intervals.

    python -m benchmarks.sampling [RESULTS ...] [--repetitions 500] [--seed 0]      writes sampling.md

1. For each results folder (the stored grid of `p1-fig06-boundary`): n50 of the probit curve that places trials at every
   d, its standard error in per cent and its 95 % interval.
2. Trials that a uniform sweep on the grid of Figure 6 needs for 0.5 % on every slice, by Wendel's law.
3. Simulated on Wendel's law, whose n50 is 2d exactly: coverage, bias, spread and mean standard error of n50 where
   trials are placed in rounds. Once with n50 on the grid of n, once between two of its values; the probit model
   causes the bias with infinitely many trials at the same places.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchmarks import HERE, written
from recovery.report.diagram import Diagram
from recovery.report.statistics.proportions import QUANTILE
from recovery.sampling.placement import Slice, Transition, covariance, estimate, place
from recovery.store import read
from recovery.theory import CURVES
from recovery.types import Array

GRID = HERE.parent / "results" / "papers" / "p1-fig06-boundary"
TARGET = 0.005
SIZES = tuple(range(10, 101, 10))
N = np.arange(10.0, 401.0, 10.0)
MANY = 1e6


def fitted(n: Array, yes: Array, no: Array) -> Transition:
    """The transition of a slice that has one."""
    found = estimate(n, yes, no)
    assert found is not None
    return found


def reach(found: Transition) -> Array:
    """The ends of the 95 % interval of n50."""
    ends: Array = found.half + QUANTILE * found.error * np.array([-1, 1])
    return ends


def measured(path: Path) -> Iterator[str]:
    """The table of one results folder."""
    diagram = Diagram.of(read(path))
    (panel,) = diagram.panels
    errors = []
    sizes: list[tuple[Any, pd.DataFrame]] = list(panel.cells.groupby("d"))
    for d, cells in sizes:
        n, yes, no = (cells[name].to_numpy(dtype=float) for name in ("n", "yes", "no"))
        found = fitted(n, yes, no)
        errors.append(found.error / found.half)
        low, high = reach(found)
        yield (
            f"| {d:g} | {found.half:.2f} | {100 * errors[-1]:.3f} | {low:.2f} to {high:.2f} "
            f"| {found.slope:.2f} | {(yes + no).sum():.0f} |"
        )
    total = int((panel.cells["yes"] + panel.cells["no"]).sum())
    reached = sum(error <= TARGET for error in errors)
    worst = f"worst {100 * max(errors):.3f} %"
    yield f"\n{diagram.name}: {total} trials, {reached} of {len(errors)} slices within 0.5 %, {worst}"


def needed(d: int) -> float:
    """Replicates of every n of the grid at which n50 has a standard error of 0.5 %, with n50 = 2d and slope 1."""
    return float(covariance(N, np.ones(len(N)), 2.0 * d, 1.0)[0, 0]) / (TARGET * 2 * d) ** 2


@dataclass(frozen=True)
class Sampled:
    """The counts of a simulated slice and its fit."""

    yes: Array
    no: Array
    found: Transition


def sample(
    n: Array, sizes: tuple[int, ...], replicates: int, rounds: int, budget: int, rng: np.random.Generator
) -> list[Sampled]:
    """A boundary sweep over Wendel's law, one slice for each d, as the runner does it."""
    chances = [1 - CURVES["wendel"].function(n, d) for d in sizes]
    yes = [rng.binomial(replicates, chance).astype(float) for chance in chances]
    no = [replicates - one for one in yes]
    left = budget - replicates * len(n) * len(sizes)
    for coming in range(rounds - 1, 0, -1):
        placed = place([Slice(n, *counts) for counts in zip(yes, no, strict=True)], left // coming)
        left -= left // coming
        for i, (_, added) in enumerate(placed):
            more = rng.binomial(added, chances[i])
            yes[i], no[i] = yes[i] + more, no[i] + added - more
    return [Sampled(y, m, fitted(n, y, m)) for y, m in zip(yes, no, strict=True)]


def simulate(
    n: Array, sizes: tuple[int, ...], replicates: int, rounds: int, budget: int, repetitions: int, seed: int
) -> Iterator[str]:
    """The table of one design, a row for each d."""
    rng = np.random.default_rng(seed)
    drawn = [sample(n, sizes, replicates, rounds, budget, rng) for _ in range(repetitions)]
    reached = []
    for i, d in enumerate(sizes):
        column = [one[i] for one in drawn]
        found = [one.found for one in column]
        covered = sum(low <= 2 * d <= high for low, high in map(reach, found))
        low, high = binomtest(covered, repetitions).proportion_ci()
        estimates = np.array([t.half for t in found]) / (2 * d) - 1
        errors = np.array([one.error / one.half for one in found])
        reached.append(errors <= TARGET)
        trials = np.mean([one.yes + one.no for one in column], axis=0)
        chance = 1 - CURVES["wendel"].function(n, d)
        limit = fitted(n, MANY * trials * chance, MANY * trials * (1 - chance))
        bias, noise = 100 * estimates.mean(), 100 * estimates.std() / np.sqrt(repetitions)
        model = 100 * (limit.half / (2 * d) - 1)
        yield (
            f"| {d} | {covered / repetitions:.3f} ({low:.3f} to {high:.3f}) | {bias:+.3f} ± {noise:.3f} "
            f"| {model:+.3f} | {100 * estimates.std():.3f} | {100 * errors.mean():.3f} | {trials.sum():.0f} |"
        )
    yield f"\nwithin 0.5 % on every slice: {np.mean(np.all(reached, axis=0)):.2f} of {repetitions} repetitions\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=Path, default=[GRID])
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    lines = list[str]()
    for path in given.results:
        lines += [
            "| d | n50 | s.e. % | 95 % interval | slope | trials |",
            "|---|---|---|---|---|---|",
            *measured(path),
            "",
        ]
    wanted = {d: needed(d) for d in SIZES}
    most = max(wanted.values())
    lines += [
        f"A uniform sweep needs {most:.0f} replicates of each of {len(N) * len(SIZES)} cells for 0.5 % at d = 10,",
        f"{most * len(N) * len(SIZES):.3g} trials; at the other d " + ", ".join(f"{r:.0f}" for r in wanted.values()),
    ]
    for name, n in (("n = 10, 20, ..., 400", N), ("n = 15, 25, ..., 405", N + 5)):
        lines += ["", name, "", "| d | coverage | bias % | of the model | spread % | mean s.e. % | trials |"]
        lines += ["|---|---|---|---|---|---|---|"]
        lines += simulate(n, (10, 20, 50, 100), 4, 6, 9000, given.repetitions, given.seed)
    written(__file__, lines, kept=given.results == [GRID])


if __name__ == "__main__":
    main()
