"""Diagrams as Vega-Lite charts: on an HTML page without external resources, and in notebooks."""

from recovery.report.page.html import document as document, table as table
from recovery.report.page.page import report_page as report_page
from recovery.report.page.payload import payload as payload
