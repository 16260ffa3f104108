"""A phase diagram as data: grid cells, layout, the quantity shown, its scale, and theory in its plane."""

from recovery.report.diagram.axis import Axis as Axis, Scale as Scale, scale_of as scale_of
from recovery.report.diagram.diagram import Diagram as Diagram
from recovery.report.diagram.grid_cells import (
    NOT_MEASURED as NOT_MEASURED,
    Cells as Cells,
    Panel as Panel,
    has as has,
    is_same as is_same,
    rows_where as rows_where,
    unknown as unknown,
)
from recovery.report.diagram.layout import (
    ThresholdAxis as ThresholdAxis,
    coordinates as coordinates,
    is_number as is_number,
    joint_values as joint_values,
)
from recovery.report.diagram.quantity import as_numbers as as_numbers, default_quantity as default_quantity
from recovery.report.diagram.summary import summary as summary
from recovery.report.diagram.theory_lines import (
    TheoryLine as TheoryLine,
    lines as lines,
    not_drawn as not_drawn,
    ratios_of as ratios_of,
    theory_along as theory_along,
)
from recovery.report.diagram.vocabulary import (
    GREEK as GREEK,
    PLAIN as PLAIN,
    Script as Script,
    fraction_words as fraction_words,
    greek as greek,
    lettered as lettered,
    shared_parts as shared_parts,
    unknown_words as unknown_words,
)
