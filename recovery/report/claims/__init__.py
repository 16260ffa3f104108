"""What a config claims, tested on its grid."""

from recovery.report.claims.analysis import Analysis, brief, in_words
from recovery.report.claims.result import ClaimResult, Judgement

__all__ = ["Analysis", "ClaimResult", "Judgement", "brief", "in_words"]
