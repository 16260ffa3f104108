"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import (
    Analysis as Analysis,
    contour as contour,
    half_crossings as half_crossings,
    lone_crossings as lone_crossings,
)
from recovery.report.claims.lines import Line as Line
