"""Estimates from a diagram: thresholds with one interval each, their growth and scaling, proportions and means."""

from recovery.report.statistics.differences import exact_interval
from recovery.report.statistics.estimates import Estimates
from recovery.report.statistics.panels import Threshold, threshold_of
