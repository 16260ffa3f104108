"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import (
    Analysis as Analysis,
    contour as contour,
    crossing_label as crossing_label,
    half_crossings as half_crossings,
    lone_crossings as lone_crossings,
    lone_label as lone_label,
)
from recovery.report.claims.lines import Line as Line
