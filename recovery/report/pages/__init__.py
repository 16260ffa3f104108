"""Reports as one HTML page that needs no network."""

from recovery.report.pages.difference_page import comparison_page
from recovery.report.pages.page import report_page

__all__ = ["comparison_page", "report_page"]
