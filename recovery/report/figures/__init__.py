"""Figures of diagrams and of training records, drawn with matplotlib."""

from recovery.report.figures.files import render as render
from recovery.report.figures.kinds import (
    draw_into as draw_into,
    drawings as drawings,
    figures_beside as figures_beside,
    main_figure as main_figure,
    main_kind as main_kind,
    named_records as named_records,
)
from recovery.report.figures.map import draw_map as draw_map
