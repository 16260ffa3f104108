"""A phase diagram as data: grid cells, layout, the quantity shown, its scale, and theory in its plane."""

from recovery.report.diagram.axis import MOST_TICKS, Axis, AxisKind, log_ticks
from recovery.report.diagram.diagram import Diagram, Panel, has
from recovery.report.diagram.grid_cells import Cells
from recovery.report.diagram.layout import Layout, coordinates, is_number, joint_values, levels
from recovery.report.diagram.quantity import Quantity, as_numbers, default_quantity, finished, is_measured
from recovery.report.diagram.scale import Scale, have_one_scale, scale_of, scales_of
from recovery.report.diagram.theory_lines import lines, named_curves, theory_along
from recovery.report.diagram.threshold_axis import ThresholdAxis
from recovery.report.diagram.vocabulary import (
    GREEK,
    INTERVAL,
    NOT_MEASURED,
    PLAIN,
    PRINTED,
    RANGE,
    STANDARD_ERROR,
    UNFINISHED,
    Script,
    column_words,
    fraction_words,
    greek,
    lettered,
    letters,
    pooled_words,
    shared_parts,
    undecided_words,
    unfinished_words,
    unmarked,
)
from recovery.report.diagram.window import transition

__all__ = [
    "GREEK",
    "INTERVAL",
    "MOST_TICKS",
    "NOT_MEASURED",
    "PLAIN",
    "PRINTED",
    "RANGE",
    "STANDARD_ERROR",
    "UNFINISHED",
    "Axis",
    "AxisKind",
    "Cells",
    "Diagram",
    "Layout",
    "Panel",
    "Quantity",
    "Scale",
    "Script",
    "ThresholdAxis",
    "as_numbers",
    "column_words",
    "coordinates",
    "default_quantity",
    "finished",
    "fraction_words",
    "greek",
    "has",
    "have_one_scale",
    "is_measured",
    "is_number",
    "joint_values",
    "lettered",
    "letters",
    "levels",
    "lines",
    "log_ticks",
    "named_curves",
    "pooled_words",
    "scale_of",
    "scales_of",
    "shared_parts",
    "theory_along",
    "transition",
    "undecided_words",
    "unfinished_words",
    "unmarked",
]
