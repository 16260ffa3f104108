"""The bracket by the cells: bounds of a threshold from the counts alone, if success becomes more frequent with v.

In each slice, an isotonic regression of the success fraction is fitted, freely and with a crossing of the probability
between two neighbouring cells. The bracket holds every gap between cells that the likelihood ratio does not reject.
Where cells share draws, only the trials of one cell are independent. If the dispersion is not known then, the mean of
the likelihood ratios of the cells of a slice takes the place of their product (Vovk and Wang 2021).
"""

from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
import scipy

from recovery.report.statistics.counts import Counts
from recovery.types import Array


@dataclass(frozen=True)
class Bracket:
    """The `ends` of all gaps between cells; twice the log likelihood of a crossing in the `best` gap; and what each gap
    has `lost` against it, divided by the dispersion of the trials."""

    ends: Array
    lost: Array
    best: float

    @classmethod
    def of(cls, counts: Counts, probability: float, dispersion: float = 1.0) -> "Bracket":
        """Compare the gaps by monotone fits whose slices cross the probability there. dispersion: inf if unknown."""
        ends = np.concatenate([[-np.inf], np.unique(counts.v), [np.inf]])
        value = np.zeros(len(ends) - 1)
        for one in counts.each:
            if np.isinf(dispersion):
                each = -_evidence(one, probability)
            else:
                # the isotonic fit below a cap is the capped isotonic fit, so two passes give the fits of all crossings
                left = isotonic(one.k, one.n, probability)[1]
                each = left + isotonic((one.n - one.k)[::-1], one.n[::-1], 1 - probability)[1][::-1]
            value += 2 * each[np.searchsorted(one.v, ends[:-1], side="right")]
        lost = (value.max() - value) / (dispersion if np.isfinite(dispersion) else 1.0)
        return cls(ends, lost, float(value.max()))

    def reach(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval; they are cells, or infinite.

        The log likelihood ratio may be up to log(1 / (1 - level)). For one cell this errs on each side with at most the
        probability 1 - level, for any number of trials (Chernoff); for many trials it errs by 1.5 % in all at 95 %. The
        chi-squared limit would reject 1/2 after three equal outcomes, whose probability is 1/8.
        """
        kept = np.flatnonzero(self.lost <= -2 * log(1 - level))
        return float(self.ends[kept[0]]), float(self.ends[kept[-1] + 1])

    @property
    def gap(self) -> Array:
        """The ends of the best gaps, which may be infinite."""
        best = np.flatnonzero(self.lost <= 1e-9)
        return self.ends[[best[0], best[-1] + 1]]

    @property
    def middle(self) -> float:
        """The middle of the best gaps, as far as these are between cells."""
        return float(np.clip(self.gap, *self.ends[[1, -2]]).mean())


def equal_crossings(counts: Counts, probability: float, dispersion: float) -> float:
    """Return the p-value of the hypothesis that all slices have one crossing, by the likelihood ratio.

    Chi-squared quantiles are used; the statistic is smaller, because a monotone fit changes less than a free parameter.
    If the dispersion is unknown, the inverse of the mean likelihood ratio is the p-value.
    """
    if np.isinf(dispersion):
        return float(np.exp(Bracket.of(counts, probability, dispersion).best / 2))
    alone = sum(Bracket.of(one, probability).best for one in counts.each)
    lost = max(alone - Bracket.of(counts, probability).best, 0.0) / dispersion
    return float(scipy.special.chdtrc(counts.slices - 1, lost)) if counts.slices > 1 else 1.0


def _evidence(one: Counts, probability: float) -> Array:
    """Return the log of the mean likelihood ratio against a crossing after the first 0, 1, 2, ... cells of a slice."""
    each = scipy.special.rel_entr(one.k, one.n * probability)
    each = each + scipy.special.rel_entr(one.n - one.k, one.n * (1 - probability))
    above = np.where(one.k > one.n * probability, each, 0.0)  # the evidence of a cell against a later crossing
    below = np.where(one.k < one.n * probability, each, 0.0)
    before, after = (np.logaddexp.accumulate(np.append(-np.inf, side)) for side in (above, below[::-1]))
    return np.asarray(np.logaddexp(before, after[::-1]) - log(len(one.v)))


def isotonic(k: Array, n: Array, most: float = 1.0) -> tuple[list[slice], Array]:
    """Return the blocks of cells with equal fractions in the isotonic fit to k successes in n trials, and the log
    likelihood of rising fractions of at most `most` for the first 0, 1, 2, ... cells.

    Pools adjacent violators; fractions are compared by cross-multiplication, because equal ones must pool exactly.
    """
    blocks, found = list[tuple[int, float, float, float]](), [0.0]
    for start, (won, total) in enumerate(zip(k.tolist(), n.tolist(), strict=True)):
        while blocks and blocks[-1][1] * total >= won * blocks[-1][2]:
            start, more, others, _ = blocks.pop()
            won, total = won + more, total + others
        p = min(won / total, most)
        likelihood = (won * log(p) if won else 0.0) + ((total - won) * log(1 - p) if total > won else 0.0)
        blocks.append((start, won, total, likelihood + (blocks[-1][3] if blocks else 0.0)))
        found.append(blocks[-1][3])
    ends = [*(start for start, *_ in blocks), len(k)]
    return [slice(*pair) for pair in pairwise(ends)], np.array(found)
