"""Estimates from a diagram: thresholds, intervals, scaling and sensitivity."""

from recovery.report.statistics.estimates import COLUMNS, TOLERANCES, Estimates, sensitivity
from recovery.report.statistics.pooled import Pooled, pooled
from recovery.report.statistics.proportions import Pairs, pair_cells, wilson
from recovery.report.statistics.transition import FINE, poolable, sizes_in_words

__all__ = [
    "COLUMNS",
    "FINE",
    "TOLERANCES",
    "Estimates",
    "Pairs",
    "Pooled",
    "pair_cells",
    "poolable",
    "pooled",
    "sensitivity",
    "sizes_in_words",
    "wilson",
]
