"""How figures look: column widths in inches, fonts that embed, colours that colour-blind readers tell apart."""

from typing import Any

ONE_COLUMN = 3.45
TWO_COLUMNS = 7.1

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "recover",
    "savefig.dpi": 300,
}
"""Text stays text: TrueType in PDF, real text in SVG."""

COLOURS = "cividis"
"""Perceptually even and the same to readers without red or green cones; legible in grey."""
LINES = ("#1b6ca8", "#d95f02", "#2e8b57", "#6a3d9a", "#8c564b", "#c2185b", "#666666")
"""Lines and points that stand beside each other."""
CURVES = ("#e3242b", "black", "#6a3d9a", "#d95f02")
DASHES: tuple[Any, ...] = ("-", (0, (4, 2.5)), (0, (1, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
WIDTHS = (1.7, 0.9, 1.2, 1.2)
"""Theory curves: colour, dash and width each tell them apart; two that coincide are both seen."""
