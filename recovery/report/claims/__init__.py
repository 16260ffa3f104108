"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import Analysis, contour
from recovery.report.claims.sentences import caption, in_words

__all__ = ["Analysis", "caption", "contour", "in_words"]
