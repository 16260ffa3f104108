"""Figures of diagrams and of training records, drawn with matplotlib."""

from recovery.report.figures.kinds import (
    draw_into as draw_into,
    drawings as drawings,
    figures_beside as figures_beside,
    is_told as is_told,
    joint_figure as joint_figure,
    main_figure as main_figure,
    main_kind as main_kind,
)
from recovery.report.figures.style import render as render
