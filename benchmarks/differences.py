"""How often does the interval of a difference over all cells miss the truth? Two sweeps are drawn, and compared.

    python -m benchmarks.differences [--pairs 1000]

Each row has cells with equal, spread or rare probabilities, the same in both sweeps or higher by 0.1 in the second.
Unpaired sweeps have the score interval with the weights of Mantel and Haenszel, paired ones that of the pairs of all
cells, whose outcomes come from normal variables with correlation 0.6.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.special import ndtri

from benchmarks import arguments, table, written
from recovery.report.statistics.differences import paired_difference, unpaired_difference

CELLS, REPLICATES, SHIFTS = (1, 20, 200), (1, 5, 20), (0.0, 0.1)
LAWS = {"1/2": (0.5, 0.5), "0.02 to 0.88": (0.02, 0.88), "0.02": (0.02, 0.02)}
"""Name -> the least and the largest probability in the first sweep."""
CORRELATION = 0.6


def misses(law: str, cells: int, replicates: int, shift: float, pairs: int) -> list[float]:
    """Return how often the interval misses the difference of two sweeps, unpaired and paired."""
    rng = np.random.default_rng([list(LAWS).index(law), cells, replicates, int(10 * shift)])
    chance = np.linspace(*LAWS[law], cells)
    limits = ndtri([chance, chance + shift])
    groups, total = np.repeat(np.arange(pairs), cells), np.full((2, pairs * cells), float(replicates))
    yes = rng.binomial(replicates, np.tile([chance, chance + shift], (1, pairs))).astype(float)
    _, low, high, _ = unpaired_difference(yes, total, groups)
    common, alone = rng.standard_normal((2, pairs, replicates, cells), dtype=np.float32)
    one = common < limits[0]
    two = CORRELATION * common + np.sqrt(1 - CORRELATION**2) * alone < limits[1]
    ends = paired_difference((two & ~one).sum((1, 2)), (one & ~two).sum((1, 2)), replicates * cells)
    return [float(np.mean((shift < low - 1e-9) | (shift > high + 1e-9))) for low, high in ((low, high), ends)]


def rows(pairs: int) -> Iterator[list[str]]:
    """Yield the share of missed differences of each row."""
    for law, cells, replicates, shift in product(LAWS, CELLS, REPLICATES, SHIFTS):
        found = misses(law, cells, replicates, shift, pairs)
        yield [law, str(cells), str(replicates), f"{shift:g}", *(f"{share:.3f}" for share in found)]


NOTE = "\nThe intervals have the level 95 %, so that shares near 0.05 or below are expected."

if __name__ == "__main__":
    given = arguments(__doc__, pairs=1000)
    heads = ("probability", "cells", "replicates", "difference", "unpaired misses", "paired misses")
    written(__file__, [f"{given.pairs} comparisons per row.", "", *table(heads, rows(given.pairs)), NOTE])
