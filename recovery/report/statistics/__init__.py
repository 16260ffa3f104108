"""Estimates from a diagram: thresholds, intervals and scaling."""

from recovery.report.statistics.crossings import Crossing
from recovery.report.statistics.estimates import Estimates
from recovery.report.statistics.pooled import Drift, SliceValue, Threshold, at_level, pooled
from recovery.report.statistics.proportions import Pairs, exact_interval, pair_cells
from recovery.report.statistics.transition import poolable, slices_in_words

__all__ = [
    "Crossing",
    "Drift",
    "Estimates",
    "Pairs",
    "SliceValue",
    "Threshold",
    "at_level",
    "exact_interval",
    "pair_cells",
    "poolable",
    "pooled",
    "slices_in_words",
]
