"""Which figure shows a diagram best: a map, or where that would say little, lines."""

from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.figures.figure import draw
from recovery.report.figures.profile import draw_profile, is_profile
from recovery.report.figures.ratios import draw_ratios, is_ragged


def picture(analysis: Analysis) -> Figure:
    """The figure of a report."""
    if is_profile(analysis.diagram):
        return draw_profile(analysis.diagram)
    return draw_ratios(analysis) if is_ragged(analysis.diagram) else draw(analysis)
