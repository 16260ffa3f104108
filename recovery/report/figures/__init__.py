"""Figures of diagrams and of training records, drawn with matplotlib."""

from recovery.report.figures.files import render
from recovery.report.figures.kinds import draw_into, drawings, figures_beside, main_figure, main_kind, named_records
from recovery.report.figures.map import draw_map

__all__ = [
    "draw_into",
    "draw_map",
    "drawings",
    "figures_beside",
    "main_figure",
    "main_kind",
    "named_records",
    "render",
]
