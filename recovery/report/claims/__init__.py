"""The claims of a config, tested on its grid."""

from recovery.report.claims.analysis import Analysis, contour
from recovery.report.claims.sentences import at, caption, form_of, in_words, measured

__all__ = ["Analysis", "at", "caption", "contour", "form_of", "in_words", "measured"]
