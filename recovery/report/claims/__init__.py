"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import Analysis, contour
from recovery.report.claims.sentences import caption, form_of, in_words, measured

__all__ = ["Analysis", "caption", "contour", "form_of", "in_words", "measured"]
