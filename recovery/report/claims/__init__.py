"""The claims of a config, tested on its grid."""

from recovery.report.claims.claims import Analysis, contour
from recovery.report.claims.words import caption, in_words

__all__ = ["Analysis", "caption", "contour", "in_words"]
