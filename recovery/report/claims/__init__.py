"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import Analysis
from recovery.report.claims.lines import Line
