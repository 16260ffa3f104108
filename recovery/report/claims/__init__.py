"""What a config claims, tested on its grid."""

from recovery.report.claims.analysis import Analysis
from recovery.report.claims.result import ClaimResult, Judgement
from recovery.report.claims.words import brief, in_words, rows_in_words, without_curve

__all__ = ["Analysis", "ClaimResult", "Judgement", "brief", "in_words", "rows_in_words", "without_curve"]
