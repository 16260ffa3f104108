"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import Analysis as Analysis, contour as contour
from recovery.report.claims.sentences import (
    caption as caption,
    form_of as form_of,
    in_words as in_words,
    measured as measured,
)
