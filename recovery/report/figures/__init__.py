"""Figures of diagrams and of training records, drawn with matplotlib."""

from recovery.report.figures.kinds import draw_into, drawings, figures_beside, joint_figure, main_figure, main_kind
from recovery.report.figures.style import render
