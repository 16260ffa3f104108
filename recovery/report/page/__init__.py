"""Diagrams as Vega-Lite charts: on an HTML page without external resources, and in notebooks."""

from recovery.report.page.page import report_page
