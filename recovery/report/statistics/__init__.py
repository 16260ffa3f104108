"""Estimates from a diagram: thresholds with one interval each, their growth and scaling, proportions and means."""

from recovery.report.statistics.estimates import Estimates
from recovery.report.statistics.panels import SliceThreshold, Threshold, poolable, threshold_of
from recovery.report.statistics.proportions import Pairs, exact_interval, pair_cells

__all__ = [
    "Estimates",
    "Pairs",
    "SliceThreshold",
    "Threshold",
    "exact_interval",
    "pair_cells",
    "poolable",
    "threshold_of",
]
