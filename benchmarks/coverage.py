"""Do the 95 % intervals of thresholds cover as often as they say? Counts are drawn from Wendel's law, whose threshold
is n = 2d exactly, and fitted as a report fits them.

    python -m benchmarks.coverage [--repetitions 500] [--seed 0]

Prints one row a design: how often the interval held 2, the bias and spread of the estimate in per cent, how often the
data were separated (no cell has both outcomes out of order), and how often the interval was open at one end.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from recovery.report.statistics import Counts, fit
from recovery.theory import CURVES


@dataclass(frozen=True)
class Design:
    """Sizes d, and n = first, first + step, ..., last."""

    name: str
    sizes: tuple[int, ...]
    first: int
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
    Design("pooled, d = 10..200", tuple(range(10, 201, 10)), 10, 10, 600),
    Design("pooled, d = 10..100", tuple(range(10, 101, 10)), 10, 10, 400),
    Design("slice, d = 10", (10,), 10, 10, 400),
    Design("slice, d = 10, n = 15, 25, ...", (10,), 15, 10, 395),
    Design("slice, d = 10, n = 4, 8, ...", (10,), 4, 4, 80),
    Design("slice, d = 20", (20,), 10, 10, 400),
    Design("slice, d = 50", (50,), 10, 10, 400),
    Design("slice, d = 100", (100,), 10, 10, 400),
    Design("slice, d = 200", (200,), 10, 10, 600),
    Design("pooled, all-no and all-yes slices", (5, 10, 60, 80, 200, 250), 10, 10, 200),
    Design("slice beyond the grid, d = 100", (100,), 10, 10, 150),
    Design("coarse slice, d = 20", (20,), 25, 25, 400),
    Design("coarse pooled, d = 10..100", tuple(range(10, 101, 10)), 50, 50, 400),
)


def measure(design: Design, replicates: int, repetitions: int, seed: int) -> Coverage:
    """Draw and fit `repetitions` grids of a design."""
    rng = np.random.default_rng([seed, replicates, design.first, design.step, *design.sizes])
    n, d = (
        a.ravel().astype(float)
        for a in np.meshgrid(np.arange(design.first, design.last + 1, design.step), design.sizes)
    )
    chance = 1 - CURVES["wendel"].function(n, d)
    found = []
    for _ in range(repetitions):
        yes = rng.binomial(replicates, chance)
        found.append(fit(Counts.of(np.sqrt(n), d / np.sqrt(n), yes, replicates - yes)))
    estimates = np.array([t.estimate for t in found])
    estimates = estimates[np.isfinite(estimates)]
    return Coverage(
        design,
        replicates,
        sum(t.low <= 2 <= t.high for t in found),
        repetitions,
        float(estimates.mean() / 2 - 1) if len(estimates) else np.nan,
        float(estimates.std() / 2) if len(estimates) else np.nan,
        float(np.mean([t.separated for t in found])),
        float(np.mean([not np.isfinite(t.high - t.low) for t in found])),
    )


NOTE = """
Pooled intervals cover in 93 to 96 of 100 grids; 500 repetitions tell 0.02 either way. So they do beside slices that are
all no or all yes, which do no harm. So do those of a slice, with two exceptions that more replicates or a finer grid
mend. At d = 10 the threshold n = 20 is itself on the grid: a sharper transition just beside it explains any count
there, and the interval nearly always reaches it; half a step away, or with n in steps of 4, it covers as it says. And
where the transition lies between two n of a coarse grid, all that the counts tell is that bracket, which holds the
threshold; the bias is that of its middle. A slice beyond the grid has an interval open above, and no estimate.
"""


def table(repetitions: int, seed: int) -> Iterator[str]:
    """The lines of the table."""
    yield "| design | replicates | coverage | bias % | spread % | separated | open |"
    yield "|---|---|---|---|---|---|---|"
    for design in DESIGNS:
        for replicates in (5, 20, 100):
            row = measure(design, replicates, repetitions, seed)
            rate = row.covered / row.repetitions
            low, high = binomtest(row.covered, row.repetitions).proportion_ci()
            yield (
                f"| {design.name} | {replicates} | {rate:.3f} ({low:.3f} to {high:.3f}) | {100 * row.bias:+.3f} "
                f"| {100 * row.spread:.2f} | {row.separated:.2f} | {row.open_ended:.3f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    lines = []
    for line in table(arguments.repetitions, arguments.seed):
        print(line, flush=True)
        lines.append(line)
    print(NOTE)
    if arguments.repetitions >= 500:
        Path(__file__).with_suffix(".md").write_text("\n".join(lines) + "\n" + NOTE)


if __name__ == "__main__":
    main()
