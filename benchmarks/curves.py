"""Does the test of a curve claim keep its level, and what does it see? Tables are drawn from Wendel's law and a step.

python -m benchmarks.curves [--tables 300000] [--out FILE.md]
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import written
from recovery.report.claims.curve import TESTS
from recovery.report.statistics.tail import exceeding, outcomes, steepness
from recovery.theory import CURVES
from recovery.types import Array

N, D = np.arange(10.0, 401.0, 10.0), np.arange(10.0, 101.0, 10.0)
REPLICATES = (5, 20, 100)
NOTE = """
G, the likelihood ratio, does not see the step of 5 replicates: its cells lie no farther off than chance brings them.
T, the score against a steeper or flatter curve, sees it in all of 200.
"""


def curve_tests(tables: int, seed: int) -> Iterator[str]:
    """The curve test on Figure 6's grid, by G and by T: how many tables of the law have p below the level of a panel,
    and how many of 200 tables of a symmetric step."""
    n, d = (a.ravel() for a in np.meshgrid(N, D))
    law_chance = np.clip(CURVES["wendel"].function(n, d), 0, 1)
    doubtful = (law_chance > 0) & (law_chance < 1)
    step = np.where(n < 2 * d, 1.0, np.where(n > 2 * d, 0.0, 0.5))[doubtful]
    chance = law_chance[doubtful]
    yield "| replicates | panels | level of a test | by G | in levels | by T | in levels | step by G | step by T |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for replicates in REPLICATES:
        rng = np.random.default_rng([seed, replicates])
        values, law = outcomes(np.full(len(chance), float(replicates)), chance)
        scores = steepness(values.shape[1], chance)
        null, other = (
            _drawn(rng, replicates, drawn, (values, scores), count) for drawn, count in ((chance, tables), (step, 200))
        )
        for panels in (1, 4, 10, 50):
            level = 1e-3 / (TESTS * panels)
            limit = _critical(level, values, law)
            ends = -_critical(level / 2, -scores, law), _critical(level / 2, scores, law)
            far = [found[0] >= limit for found in (null, other)]
            steep = [(found[1] <= ends[0]) | (found[1] >= ends[1]) for found in (null, other)]
            counts = [int(np.sum(which[0])) for which in (far, steep)]
            yield (
                f"| {replicates} | {panels} | {level:.1e} | {counts[0]} of {tables} | {counts[0] / tables / level:.2f} "
                f"| {counts[1]} | {counts[1] / tables / level:.2f} | {far[1].mean():.3f} | {steep[1].mean():.3f} |"
            )


def _drawn(
    rng: np.random.Generator, replicates: int, chance: Array, statistics: tuple[Array, ...], tables: int
) -> Array:
    """Return each statistic for random tables with these probabilities."""
    found = np.zeros((len(statistics), tables))
    for i, p in enumerate(chance):
        yes = rng.binomial(replicates, p, tables)
        for total, values in zip(found, statistics, strict=True):
            total += values[i][yes]
    return found


def _critical(level: float, values: Array, law: Array) -> float:
    """The least sum of the values that the test contradicts at a level, by bisection."""
    mean = low = float((np.exp(law) * values).sum())
    high = float(values.max(axis=1).sum())
    while high - low > 1e-3 * (high - mean):
        middle = (low + high) / 2
        p, error = exceeding(middle, values, law)
        low, high = (low, middle) if p + 3 * error < level else (middle, high)
    return high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=300_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    level = f"level 1e-3 shared among panels and three tests ({arguments.tables} tables of the law)"
    lines = [f"The curve test on Figure 6's grid, {level}:\n"]
    for text in curve_tests(arguments.tables, 0):
        lines.append(text)
        print(text, flush=True)
    written(arguments.out, [*lines, NOTE])


if __name__ == "__main__":
    main()
