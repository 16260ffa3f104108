"""Estimates from a diagram: thresholds with one interval each, their growth and scaling, proportions and means."""

from recovery.report.statistics.differences import exact_interval
from recovery.report.statistics.estimates import Estimates
from recovery.report.statistics.panels import Threshold, poolable, threshold_of

__all__ = [
    "Estimates",
    "Threshold",
    "exact_interval",
    "poolable",
    "threshold_of",
]
