"""Diagrams as Vega-Lite charts: on one HTML page that needs no network, and in a notebook."""

from recovery.report.page.encodings import Json, colour, coordinate, ordinal, strokes
from recovery.report.page.html import document, table
from recovery.report.page.page import GRIDS, MAPS, report_page
from recovery.report.page.payload import payload
from recovery.report.page.values import rounded

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
