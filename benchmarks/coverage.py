"""Do the 95 % intervals of thresholds cover as often as they say? Counts are drawn from Wendel's law, whose threshold
is n = 2d exactly, and fitted as a report fits them.

    python benchmarks/coverage.py [--repetitions 500] [--seed 0]

Prints one row a design: how often the interval held 2, the bias and spread of the estimate in per cent, how often the
data were separated (no cell has both outcomes out of order), and how often the interval was open at one end.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from recovery.report.likelihood import Counts
from recovery.report.threshold import fit
from recovery.theory import CURVES


@dataclass(frozen=True)
class Design:
    """Sizes d, and n = step, 2 step, ..., last."""

    name: str
    sizes: tuple[int, ...]
    step: int
    last: int


@dataclass(frozen=True)
class Coverage:
    """What came out of the repetitions of one design."""

    design: Design
    replicates: int
    covered: int
    repetitions: int
    bias: float
    spread: float
    separated: float
    open_ended: float


DESIGNS = (
    Design("pooled, d = 10..200", tuple(range(10, 201, 10)), 10, 600),
    Design("pooled, d = 10..100", tuple(range(10, 101, 10)), 10, 400),
    Design("slice, d = 10", (10,), 10, 400),
    Design("slice, d = 20", (20,), 10, 400),
    Design("slice, d = 50", (50,), 10, 400),
    Design("slice, d = 100", (100,), 10, 400),
    Design("slice, d = 200", (200,), 10, 600),
    Design("coarse slice, d = 20", (20,), 25, 400),
    Design("coarse pooled, d = 10..100", tuple(range(10, 101, 10)), 50, 400),
)


def measure(design: Design, replicates: int, repetitions: int, seed: int) -> Coverage:
    """Draw and fit `repetitions` grids of a design."""
    rng = np.random.default_rng([seed, replicates, design.step, *design.sizes])
    n, d = (
        a.ravel().astype(float) for a in np.meshgrid(np.arange(design.step, design.last + 1, design.step), design.sizes)
    )
    chance = 1 - CURVES["wendel"].function(n, d)
    found = []
    for _ in range(repetitions):
        yes = rng.binomial(replicates, chance)
        found.append(fit(Counts.of(np.sqrt(n), d / np.sqrt(n), yes, replicates - yes)))
    estimates = np.array([t.estimate for t in found])
    return Coverage(
        design,
        replicates,
        sum(t.low <= 2 <= t.high for t in found),
        repetitions,
        float(np.nanmean(estimates) / 2 - 1),
        float(np.nanstd(estimates) / 2),
        float(np.mean([t.separated for t in found])),
        float(np.mean([not np.isfinite(t.high - t.low) for t in found])),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| design | replicates | coverage | bias % | spread % | separated | open |")
    print("|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        for replicates in (5, 20, 100):
            row = measure(design, replicates, arguments.repetitions, arguments.seed)
            rate = row.covered / row.repetitions
            low, high = binomtest(row.covered, row.repetitions).proportion_ci()
            print(
                f"| {design.name} | {replicates} | {rate:.3f} ({low:.3f} to {high:.3f}) | {100 * row.bias:+.3f} "
                f"| {100 * row.spread:.2f} | {row.separated:.2f} | {row.open_ended:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
