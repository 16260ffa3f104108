"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import (
    Analysis,
    contour,
    crossing_label,
    half_crossings,
    lone_crossings,
    lone_label,
)
from recovery.report.claims.lines import Line
