"""Diagrams as Vega-Lite charts: on an HTML page without external resources, and in notebooks."""

from recovery.report.page.cell_values import rounded
from recovery.report.page.encodings import Json, colour, coordinate, ordinal, strokes
from recovery.report.page.html import document, table
from recovery.report.page.page import GRIDS, MAPS, report_page
from recovery.report.page.payload import payload

__all__ = [
    "GRIDS",
    "MAPS",
    "Json",
    "colour",
    "coordinate",
    "document",
    "ordinal",
    "payload",
    "report_page",
    "rounded",
    "strokes",
    "table",
]
