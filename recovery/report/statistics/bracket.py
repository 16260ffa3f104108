"""The bracket by the cells: bounds of a threshold from the counts alone, if success becomes more frequent with v.

In each slice, an isotonic regression of the success fraction is fitted, freely and with a crossing of the probability
between two neighbouring cells. The bracket holds every gap between cells that the likelihood ratio does not reject.
"""

from dataclasses import dataclass
from math import log

import numpy as np
import scipy

from recovery.report.statistics.counts import Counts
from recovery.types import Array


@dataclass(frozen=True)
class Bracket:
    """The ends of all gaps between cells, and in each gap twice the log likelihood lost against the best gap."""

    ends: Array
    lost: Array
    best: float

    @classmethod
    def of(cls, counts: Counts, probability: float) -> "Bracket":
        """Compare the monotone fits of all slices that cross the probability in the same gap."""
        ends = np.concatenate([[-np.inf], np.unique(counts.v), [np.inf]])
        value = np.zeros(len(ends) - 1)
        for i in range(counts.slices):
            one = counts.slice(i)
            # the isotonic fit below a cap is the capped isotonic fit, so two passes give the fits of all crossings
            left = _likelihoods(one.k, one.n, probability)
            right = _likelihoods((one.n - one.k)[::-1], one.n[::-1], 1 - probability)[::-1]
            value += 2 * (left + right)[np.searchsorted(one.v, ends[:-1], side="right")]
        return cls(ends, value.max() - value, float(value.max()))

    def reach(self, level: float, dispersion: float = 1.0) -> tuple[float, float]:
        """Return the ends of the interval; they are cells, or infinite."""
        kept = np.flatnonzero(self.lost <= scipy.special.chdtri(1, 1 - level) * dispersion)
        return float(self.ends[kept[0]]), float(self.ends[kept[-1] + 1])

    @property
    def inside(self) -> bool:
        """Whether the best gaps lie between cells."""
        best = np.flatnonzero(self.lost <= 1e-9)
        return bool(best[0] > 0 and best[-1] < len(self.lost) - 1)

    @property
    def middle(self) -> float:
        """The middle of the best gaps."""
        best, inner = np.flatnonzero(self.lost <= 1e-9), self.ends[[1, -2]]
        return float(np.clip(self.ends[[best[0], best[-1] + 1]], *inner).mean())


def equal_crossings(counts: Counts, probability: float, dispersion: float) -> float:
    """Return the p-value of one crossing for all slices against one for each, by the likelihood ratio.

    Its law is smaller than chi-squared, because a monotone fit sees less than a parameter does.
    """
    alone = sum(Bracket.of(counts.slice(i), probability).best for i in range(counts.slices))
    lost = max(alone - Bracket.of(counts, probability).best, 0.0) / dispersion
    return float(scipy.special.chdtrc(counts.slices - 1, lost)) if counts.slices > 1 else 1.0


def _likelihoods(k: Array, n: Array, most: float) -> Array:
    """Return the log likelihood of rising fractions of at most `most` for the first 0, 1, 2, ... cells.

    Pools adjacent violators; fractions are compared by cross-multiplication, because equal ones must pool exactly.
    """
    blocks, found = list[tuple[float, float, float]](), [0.0]
    for won, total in zip(k.tolist(), n.tolist(), strict=True):
        while blocks and blocks[-1][0] * total >= won * blocks[-1][1]:
            more, others, _ = blocks.pop()
            won, total = won + more, total + others
        p = min(won / total, most)
        likelihood = (won * log(p) if won else 0.0) + ((total - won) * log(1 - p) if total > won else 0.0)
        blocks.append((won, total, likelihood + (blocks[-1][2] if blocks else 0.0)))
        found.append(blocks[-1][2])
    return np.array(found)


def blocks(k: Array, n: Array) -> list[slice]:
    """Return the blocks of cells with equal fractions in the isotonic fit."""
    starts, sums = list[int](), list[tuple[float, float]]()
    for i, (won, total) in enumerate(zip(k.tolist(), n.tolist(), strict=True)):
        start = i
        while sums and sums[-1][0] * total >= won * sums[-1][1]:
            more, others = sums.pop()
            won, total, start = won + more, total + others, starts.pop()
        sums.append((won, total))
        starts.append(start)
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], len(k)], strict=True)]
