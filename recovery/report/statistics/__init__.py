"""Estimates from a diagram: thresholds, intervals, scaling and sensitivity."""

from recovery.report.statistics.curve_free import CrossedRow
from recovery.report.statistics.estimates import COLUMNS, TOLERANCES, Estimates, SecondOpinion, sensitivity
from recovery.report.statistics.pooled import Pooled, pooled
from recovery.report.statistics.probit import Counts, Threshold, fit
from recovery.report.statistics.proportions import Pairs, Sample, mcnemar, pair_cells, wilson
from recovery.report.statistics.sizes import Size
from recovery.report.statistics.tail import tail
from recovery.report.statistics.transition import (
    FINE,
    numbers,
    poolable,
    sizes_in_words,
)

__all__ = [
    "COLUMNS",
    "FINE",
    "TOLERANCES",
    "Counts",
    "CrossedRow",
    "Estimates",
    "Pairs",
    "Pooled",
    "Sample",
    "SecondOpinion",
    "Size",
    "Threshold",
    "fit",
    "mcnemar",
    "numbers",
    "pair_cells",
    "poolable",
    "pooled",
    "sensitivity",
    "sizes_in_words",
    "tail",
    "wilson",
]
