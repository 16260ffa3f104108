"""How figures look: widths in inches, fonts that embed, colours that colour-blind readers tell apart, axes, and text:
what it shows, and the room that it takes."""

import re
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.cbook import is_math_text
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from recovery.config import StyleSpec
from recovery.report.diagram import MOST_TICKS, Axis, Diagram, Script, log_ticks

UNBROKEN = "\u00a0"
LABELS_BESIDE = 1.7
"""Inches of labels that stand side by side under a panel; more of them are turned."""
CLEAR = 0.04
"""Inches between two labels at least: the width of a blank."""
WIDTHS = {"column": 3.45, "page": 7.1, "slide": 10.0}
"""Inches: a journal's column, its page, a slide of 16:9."""
LARGER = {"slide": 1.5}
"""By how much letters and lines grow on what is looked at from afar."""
FONTS: dict[str, dict[str, str]] = {
    "sans": {"font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"},
    "serif": {"font.family": "DejaVu Serif", "mathtext.fontset": "dejavuserif"},
    "latex": {"font.family": "STIXGeneral", "mathtext.fontset": "stix"},
}
"""All of them come with matplotlib; STIX has the shapes of a LaTeX article in Times."""
SIZES = {
    "font.size": 7.5,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.fontsize": 7.0,
    "figure.titlesize": 9.0,
    "hatch.linewidth": 0.5,
}
FILES: Any = {
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "recover",
    "savefig.dpi": 300,
}
"""Text stays text: TrueType in PDF, real text in SVG."""

LINES = ("#1b6ca8", "#d95f02", "#2e8b57", "#6a3d9a", "#8c564b", "#c2185b", "#5f6b00")
"""Lines and points that stand beside each other."""
SHADES = "cividis"
"""What training recorded, where it is shaded."""
CURVES = ("#e3242b", "black", "#6a3d9a", "#d95f02")
DASHES: tuple[Any, ...] = ("-", (0, (4, 2.5)), (0, (1, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
STROKES = (1.3, 0.9, 1.1, 1.1)
"""Theory curves: colour, dash and width each tell them apart; two that coincide are both seen."""


@dataclass(frozen=True)
class Style:
    """The look of one figure, from the config's `report.style`."""

    spec: StyleSpec

    def width(self, across: int) -> float:
        """Inches of a figure with so many panels side by side."""
        width = self.spec.width
        return WIDTHS[width if width != "auto" else "column" if across == 1 else "page"]

    @property
    def larger(self) -> float:
        """The factor of letters and lines."""
        return LARGER.get(self.spec.width, 1.0)

    @property
    def rc(self) -> Any:
        """matplotlib's settings."""
        sizes = {name: size * self.larger for name, size in SIZES.items()}
        return {**FILES, **FONTS[self.spec.fonts], **sizes, "lines.linewidth": 0.9 * self.larger}


def style_of(diagram: Diagram) -> Style:
    """The look that the config asks for."""
    return Style(diagram.sweep.report.style)


def line_style(i: int) -> dict[str, Any]:
    """Colour and dash of the i-th of several lines: seven colours, then the same dashed."""
    return {"color": LINES[i % len(LINES)], "linestyle": DASHES[i // len(LINES) % len(DASHES)]}


def plain(text: str) -> str:
    """Text that matplotlib shows as it stands: dollars are no mathematics, one line stays one line, and what the
    font lacks becomes U+FFFD."""
    glyphs = _glyphs(str(matplotlib.rcParams["font.family"][0]))
    shown = "".join(c if ord(c) in glyphs else "\ufffd" for c in " ".join(text.split()))
    return shown.replace("$", r"\$")


@lru_cache(maxsize=8)
def _glyphs(family: str) -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=[family]))).get_charmap())


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Text in lines of at most so many inches, broken between words; `a = b` stays on one line."""
    lines: list[str] = []
    whole = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", UNBROKEN), text)
    for word in whole.replace(" = ", f"{UNBROKEN}={UNBROKEN}").split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return [line.replace(UNBROKEN, " ") for line in lines]


def width(text: str, size: float) -> float:
    """Inches that a line of text takes."""
    return _width(text, size, str(matplotlib.rcParams["font.family"][0]))


@lru_cache(maxsize=4096)
def _width(text: str, size: float, family: str) -> float:
    if not text.strip():
        return 0.0
    shown = text.replace(UNBROKEN, " ")
    points, codes = text_to_path.get_text_path(FontProperties(family=[family]), shown, is_math_text(shown))
    # fonts set control points no further out than curves; the point of a closing line is anywhere
    across = np.reshape(points, (-1, 2))[np.not_equal(codes, Path.CLOSEPOLY), 0]
    return float(np.ptp(across)) * size / text_to_path.FONT_SCALE / 72 if len(across) else 0.0


MATH = Script(own=plain, marked=str)
"""The script of matplotlib: the letters of the papers as mathematics."""


def set_axis(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    """Scale and ticks: labels at values that exist, words as words, log axes as powers."""
    drawn = ax.xaxis if which == "x" else ax.yaxis
    if axis.kind == "log":
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    ticks = [] if list(axis.values) == [None] else [(at, MATH.value(value)) for at, value in axis.ticks]
    if which == "x":
        size = FontProperties(size=matplotlib.rcParams["xtick.labelsize"]).get_size_in_points()
        if sum(width(label, size) for _, label in ticks) > LABELS_BESIDE:
            ax.tick_params(axis="x", rotation=30)
        elif axis.kind != "even":
            room = ax.get_window_extent().width / ax.figure.dpi
            ticks = _apart(ticks, axis, room, size)
    drawn.set_ticks([at for at, _ in ticks], [label for _, label in ticks])
    drawn.set_ticks([], minor=True)


def _apart(ticks: list[tuple[float, str]], axis: Axis, room: float, size: float) -> list[tuple[float, str]]:
    """From the left, the labels that stand clear of the last one kept, on an axis of about so many inches."""
    scale = np.log if axis.kind == "log" else np.asarray
    low, high = scale(axis.reach)
    kept, end = list[tuple[float, str]](), -np.inf
    for at, label in sorted(ticks):
        middle, half = room * (float(scale(at)) - low) / (high - low), width(label, size) / 2
        if middle - half >= end + CLEAR:
            kept.append((at, label))
            end = middle + half
    return kept


def label_log(drawn: DrawnAxis, low: float, high: float, most: int = MOST_TICKS) -> None:
    """Ticks of a log axis from low to high: few, as plain numbers where those are short, none between them."""
    ticks = log_ticks(low, high)
    ticks = ticks[:: ceil(len(ticks) / most)]
    drawn.set_ticks(ticks, [MATH.number(tick) for tick in ticks])
    drawn.set_ticks([], minor=True)
