"""A phase diagram as data: grid cells, layout, the quantity shown, its scale, and theory in its plane."""

from recovery.report.diagram.axis import Axis, Scale, scale_of
from recovery.report.diagram.diagram import Diagram
from recovery.report.diagram.grid_cells import NOT_MEASURED, Cells, Panel, has, is_same, rows_where, unknown
from recovery.report.diagram.layout import ThresholdAxis, coordinates, is_number, joint_values
from recovery.report.diagram.quantity import as_numbers, default_quantity
from recovery.report.diagram.summary import summary
from recovery.report.diagram.theory_lines import TheoryLine, lines, not_drawn, ratios_of, theory_along
from recovery.report.diagram.vocabulary import PLAIN, Script, greek, lettered, shared_parts, unknown_words
