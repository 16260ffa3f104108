"""What a config claims, tested on its grid."""

from recovery.report.claims.analysis import Analysis
from recovery.report.claims.words import brief, in_words, without_curve

__all__ = ["Analysis", "brief", "in_words", "without_curve"]
