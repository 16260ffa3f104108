"""Reports as one HTML page that needs no network."""

from recovery.report.pages.page import report_page

__all__ = ["report_page"]
