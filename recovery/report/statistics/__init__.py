"""What is estimated from a diagram: thresholds, intervals, scaling, sensitivity, comparisons of two grids."""

from recovery.report.statistics.compare import FDR, Comparison, compare, in_words
from recovery.report.statistics.estimates import COLUMNS, TOLERANCES, Estimates, sensitivity
from recovery.report.statistics.likelihood import Counts
from recovery.report.statistics.proportions import Pairs, mcnemar, pair_cells, wilson
from recovery.report.statistics.threshold import Threshold, fit
from recovery.report.statistics.transition import (
    FINE,
    Collapse,
    Pooled,
    by_size,
    poolable,
    pooled,
    sizes_in_words,
    slices,
)

__all__ = [
    "COLUMNS",
    "FDR",
    "FINE",
    "TOLERANCES",
    "Collapse",
    "Comparison",
    "Counts",
    "Estimates",
    "Pairs",
    "Pooled",
    "Threshold",
    "by_size",
    "compare",
    "fit",
    "in_words",
    "mcnemar",
    "pair_cells",
    "poolable",
    "pooled",
    "sensitivity",
    "sizes_in_words",
    "slices",
    "wilson",
]
