"""What is estimated from a diagram: thresholds, intervals, scaling, sensitivity."""

from recovery.report.statistics.crossings import CrossedRow
from recovery.report.statistics.curve_free import Crossing
from recovery.report.statistics.directed import DIRECTIONS
from recovery.report.statistics.estimates import COLUMNS, TOLERANCES, Estimates, sensitivity
from recovery.report.statistics.likelihood import Counts
from recovery.report.statistics.pooled import Pooled, Size, pooled
from recovery.report.statistics.proportions import Pairs, Sample, mcnemar, pair_cells, wilson
from recovery.report.statistics.tail import tail
from recovery.report.statistics.threshold import Threshold, fit
from recovery.report.statistics.transition import (
    FINE,
    numbers,
    poolable,
    sizes_in_words,
    slices,
)

__all__ = [
    "COLUMNS",
    "DIRECTIONS",
    "FINE",
    "TOLERANCES",
    "Counts",
    "CrossedRow",
    "Crossing",
    "Estimates",
    "Pairs",
    "Pooled",
    "Sample",
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
    "slices",
    "tail",
    "wilson",
]
