"""A phase diagram as data: cells, layout, the quantity shown, its scale, and the theory in its plane."""

from recovery.report.diagram.along import named_curves, theory_along
from recovery.report.diagram.axis import MOST_TICKS, Axis, log_ticks
from recovery.report.diagram.cells import Cells
from recovery.report.diagram.curves import lines
from recovery.report.diagram.diagram import Diagram, Panel, describe, has
from recovery.report.diagram.layout import Layout, coordinates, is_number, levels, taken, value_words
from recovery.report.diagram.quantity import Quantity, as_numbers, default_quantity, finished, is_measured
from recovery.report.diagram.scale import Scale, scale_of

__all__ = [
    "MOST_TICKS",
    "Axis",
    "Cells",
    "Diagram",
    "Layout",
    "Panel",
    "Quantity",
    "Scale",
    "as_numbers",
    "coordinates",
    "default_quantity",
    "describe",
    "finished",
    "has",
    "is_measured",
    "is_number",
    "levels",
    "lines",
    "log_ticks",
    "named_curves",
    "scale_of",
    "taken",
    "theory_along",
    "value_words",
]
