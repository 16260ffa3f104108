"""Diagrams as Vega-Lite charts: in a notebook, and on the page."""

from recovery.report.charts.axes import Json, coordinate
from recovery.report.charts.fits import fits
from recovery.report.charts.payload import payload
from recovery.report.charts.spec import templates
from recovery.report.charts.values import colour, rounded

__all__ = ["Json", "colour", "coordinate", "fits", "payload", "rounded", "templates"]
