"""Style of the figures: sizes in inches, embeddable fonts, colours for colour-blind readers, axes, and text layout."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle, islice, repeat
from math import ceil
from numbers import Real
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.cbook import is_math_text
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.mathtext import MathTextParser
from matplotlib.textpath import text_to_path
from matplotlib.ticker import Locator, LogLocator, MaxNLocator

from recovery.config.header import LENGTH, StyleSpec
from recovery.errors import ReportError
from recovery.report.diagram import Axis, Diagram, Script, shared_parts

FEWEST_TICKS, MOST_TICKS = 3, 7
ROUND = MaxNLocator(MOST_TICKS - 1, steps=[1, 2, 5, 10])
NO_BREAK_SPACE = "\u00a0"
WIDEST_LABELS = 1.7
"""Names below an x axis that take more inches than this in total are rotated."""
LINE = 1.3
"""Distance of two lines of text in font sizes."""
LABEL_GAP = 0.04
"""Inches between two neighbouring tick labels, at least: the width of a blank."""
WIDTHS = {"column": 3.45, "page": 7.1, "slide": 10.0}
"""Width of a figure in inches: a journal column, a journal page, a 16:9 slide."""
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
"""Unit -> its length in inches; a point is TeX's, in which LaTeX states the width of a column."""
FONTS: dict[str, dict[str, str]] = {
    "sans": {"font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans"},
    "serif": {"font.family": "DejaVu Serif", "mathtext.fontset": "dejavuserif"},
    "latex": {"font.family": "STIXGeneral", "mathtext.fontset": "stix"},
}
"""All of these fonts come with matplotlib; STIX resembles Times as used in LaTeX articles."""
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
    "svg.fonttype": "none",
    "svg.hashsalt": "recover",
    "savefig.dpi": 300,
}
"""Settings by which text in files stays text: TrueType in PDF, text elements in SVG."""

LINES = ("#005a9c", "#d55e00", "#009070", "#c9659a", "#6b4700", "#4398d0")
"""Colours of measured lines whose coordinate has no order: close to those of Okabe and Ito, told apart by readers who
confuse red and green, with a contrast of at least 3 on white."""
MARKERS = "os^DvPX"
ORDERED = ("magma", 0.02, 0.67)
"""Colour map, and its part that is used, for lines of a coordinate with an order: no yellow, which paper hides."""
MOST_NAMED = 8
"""Most lines of numbers that a legend names; more have a colour bar."""
CURVES = ("#e3242b", "#000001", "#6a3d9a", "#d95f02")
"""Colours of theory curves. The second is not quite black, because pages replace it on the dark theme."""
DASHES: tuple[Any, ...] = ("-", (0, (4, 2.5)), (0, (1, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
SECONDARY = (0, (2, 1.2))
"""Dashes of a curve that brackets another curve."""
STROKES = (1.3, 0.9, 1.1, 1.1)
"""Line widths of theory curves. Colour, dash and width all differ, so that two coinciding curves are both visible."""


@dataclass(frozen=True)
class Style:
    """Style of one figure, from `report.style` of the config."""

    spec: StyleSpec

    def width(self, columns: int) -> float:
        """Return the width in inches of a figure with this number of panels in a row."""
        width = self.spec.width
        if length := re.match(LENGTH, width):
            return float(length[1]) * INCHES[length[2]]
        return WIDTHS[width if width != "auto" else "column" if columns == 1 else "page"]

    @property
    def titled(self) -> bool:
        """Whether the title is drawn."""
        return self.spec.width in ("auto", "page", "slide") if self.spec.title is None else self.spec.title

    @property
    def magnification(self) -> float:
        """The factor applied to the sizes of text and lines. Slides are read from a distance."""
        usual = 1.5 if self.spec.width == "slide" else 1.0
        return self.spec.font_size / SIZES["axes.labelsize"] if self.spec.font_size else usual

    @property
    def rc(self) -> Any:
        """The settings as matplotlib's rcParams."""
        sizes = {name: size * self.magnification for name, size in SIZES.items()}
        return {**FILES, **FONTS[self.spec.fonts], **sizes, "lines.linewidth": 0.9 * self.magnification}


def font_size(name: str) -> float:
    """Return, in points, the size of text that matplotlib's setting `name`, such as `axes.titlesize`, has now."""
    params: Any = matplotlib.rcParams
    return float(FontProperties(size=params[name]).get_size_in_points())


def line_styles(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return colour, dash and marker of the line of each value: shades for three or more numbers. Other values differ
    in all three, so that two coinciding lines are both visible."""
    looks: Iterable[tuple[Any, ...]] = zip(cycle(LINES), cycle(DASHES), cycle(MARKERS), strict=False)
    if bar := bar_of(values):  # the bar identifies the lines, so all have one mark
        looks = ((matplotlib.colors.to_hex(colour), "-", MARKERS[0]) for colour in bar.to_rgba(Axis(values).at))
    elif ordered(values):
        looks = zip(shades(len(values), *ORDERED), repeat("-"), cycle(MARKERS), strict=False)
    return [dict(zip(("color", "linestyle", "marker"), look, strict=True)) for look in islice(looks, len(values))]


def ordered(values: Sequence[Any]) -> bool:
    """Return whether the values are three or more numbers, which have an order."""
    return len(values) > 2 and all(isinstance(value, Real) and not isinstance(value, bool) for value in values)


def bar_of(values: Sequence[Any]) -> ScalarMappable | None:
    """Return a colour scale for lines of these values if they are numbers and too many for a legend; otherwise None."""
    axis = Axis(values)
    if not ordered(values) or len(values) <= MOST_NAMED or axis.kind == "even":
        return None
    norm = (LogNorm if axis.kind == "log" else Normalize)(axis.at.min(), axis.at.max())
    return ScalarMappable(norm, ListedColormap(shades(256, *ORDERED)))


def theory_looks(lines: Sequence[tuple[str, bool]]) -> dict[str, dict[str, Any]]:
    """Return label -> colour, dash and width of each theory curve, given as (label, whether it brackets another)."""
    main = list(dict.fromkeys(label for label, secondary in lines if not secondary))
    ranks = {label: main.index(label) % len(CURVES) if label in main else None for label, _ in lines}
    looks = {label: (0, SECONDARY, 0.7) if k is None else (k, DASHES[k], STROKES[k]) for label, k in ranks.items()}
    return {label: {"color": CURVES[k], "linestyle": d, "linewidth": w} for label, (k, d, w) in looks.items()}


def shades(count: int, scale: str, low: float = 0.0, high: float = 1.0) -> list[str]:
    """Return `count` colours, evenly spaced from `low` to `high` on a colour map."""
    return [matplotlib.colors.to_hex(c) for c in matplotlib.colormaps[scale](np.linspace(low, high, count))]


def plain(text: str) -> str:
    """Return text for matplotlib on one line: dollar signs are literal, characters not in the font are U+FFFD."""
    font = get_font(findfont(FontProperties(family=matplotlib.rcParams["font.family"][:1])))
    shown = "".join(c if font.get_char_index(ord(c)) else "\ufffd" for c in " ".join(text.split()))
    return shown.replace("$", r"\$")


def wrapped(text: str, size: float, room: float) -> str:
    """Break text of a font size into lines of at most `room` inches, but not `a = b`, `a ≤ b` or `a to b`."""
    lines: list[str] = []
    whole = re.sub(r"\$[^$]*\$", lambda formula: formula[0].replace(" ", NO_BREAK_SPACE), text.replace("\n", " "))
    for word in re.sub(" ([=≤]|to) ", rf"{NO_BREAK_SPACE}\1{NO_BREAK_SPACE}", whole).split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        lines = [*lines[:-1], longer] if lines and text_width(longer, size) <= room else [*lines, word]
    return "\n".join(lines).replace(NO_BREAK_SPACE, " ")


def text_width(text: str, size: float) -> float:
    """Return the width in inches of one line of text in a font size."""
    shown, font = text.replace(NO_BREAK_SPACE, " "), FontProperties(size=size)
    return float(text_to_path.get_text_width_height_descent(shown, font, bool(is_math_text(shown)))[0]) / 72


MATH = Script(own=plain, marked=str)
"""The script of matplotlib: symbols of the papers are set as mathematics."""


def script_of(diagram: Diagram) -> Script:
    """Return the script of matplotlib with the labels of the config. Raises `ReportError`."""
    for name, label in diagram.sweep.report.labels.items():
        try:
            if is_math_text(label):
                MathTextParser("path").parse(label)
        except ValueError as error:
            reason = str(error).strip().splitlines()[-1]
            text = f"report.labels.{name}: found {label!r}, which is no mathematics of Matplotlib: {reason}"
            raise ReportError(f"{text}; correct it, or leave out the dollar signs") from None
    return MATH.labelled(diagram.sweep.report.labels, diagram.shared)


def set_axis(ax: Axes, which: Literal["x", "y"], axis: Axis, script: Script = MATH) -> list[str]:
    """Set scale and ticks of one axis. Return, as a remark if not all words have labels, how many have one."""
    drawn = ax.xaxis if which == "x" else ax.yaxis
    if axis.kind == "log":
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    shared, shown = shared_parts(axis.values), [] if list(axis.values) == [None] else ticks_of(axis)
    words = [script.value(one, shared, axis.name) for _, one in shown]
    if axis.kind == "log" or (axis.kind != "even" and any("10^" in word for word in words)):
        words = numbers([at for at, _ in shown])
    ticks = [(at, word) for (at, _), word in zip(shown, words, strict=True)]
    size, box = font_size("xtick.labelsize"), ax.get_window_extent()
    # labels and a colour bar leave a panel less room than it has before the layout: here labels of y as wide as a tenth
    room = 0.8 * (box.width if which == "x" else box.height) / ax.figure.dpi
    if which == "x":
        wide = max((text_width(label.get_text(), size) for label in ax.get_yticklabels()), default=0.0)
        room -= max(wide - room / 8, 0.0)
    high, flat = len(ticks) * LINE * size / 72, sum(text_width(label, size) for _, label in ticks) <= WIDEST_LABELS
    if axis.kind == "even" and (which == "y" or not flat):
        if which == "x":
            ax.tick_params(axis="x", rotation=30 if 2 * high < room else 90)
        ticks = [(at, label if i % max(ceil(high / room), 1) == 0 else "") for i, (at, label) in enumerate(ticks)]
    elif axis.kind != "even" and which == "x":
        ticks = _without_overlap(ticks, axis, room, size)
    drawn.set_ticks([at for at, _ in ticks], [label for _, label in ticks])
    drawn.set_ticks([], minor=True)
    named, of = sum(label != "" for _, label in ticks), len(ticks)
    return [f"{script.axis(axis.name)}: {named} of {of} values named"] if axis.kind == "even" and named < of else []


def _without_overlap(ticks: list[tuple[float, str]], axis: Axis, room: float, size: float) -> list[tuple[float, str]]:
    """Empty each label that would touch another on an axis `room` inches long. Powers of ten of a log axis take their
    places first, then both ends, then the others from left to right."""
    log, kept = axis.kind == "log", dict[float, tuple[float, float]]()
    (low, high), ends = axis.scaled(axis.reach), (ticks[0][0], ticks[-1][0]) if ticks else ()
    order = sorted(ticks, key=lambda one: (log and f"{one[0]:e}"[:8] != "1.000000", one[0] not in ends, one[0]))
    for at, label in order:
        middle, half = room * (float(axis.scaled(at)) - low) / (high - low), (text_width(label, size) + LABEL_GAP) / 2
        if all(middle + half <= left or middle - half >= right for left, right in kept.values()):
            kept[at] = middle - half, middle + half
    return [(at, label if at in kept else "") for at, label in ticks]


def ticks_of(axis: Axis) -> list[tuple[float, Any]]:
    """Return (position, value) of the labels of an axis: all values if they are few or words, else round numbers."""
    if len(axis.values) <= MOST_TICKS or axis.kind == "even":
        return list(zip(axis.at.tolist(), axis.values, strict=True))
    low, high = float(axis.at.min()), float(axis.at.max())
    found = log_ticks(low, high) if axis.kind == "log" else _inside(ROUND, low, high)
    return [(tick, tick) for tick in found]


def log_ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """Return about `most` ticks between positive numbers: powers of ten, if too few with 2 and 5, or round steps."""
    for locator in (LogLocator(), LogLocator(subs=(1, 2, 5)), ROUND):
        if len(ticks := _inside(locator, low, high)) >= FEWEST_TICKS:
            break
    return ticks[:: ceil(len(ticks) / most)] or [low, high]


def _inside(locator: Locator, low: float, high: float) -> list[float]:
    ticks = locator.tick_values(low, high)
    return [float(f"{tick:.12g}") for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def numbers(values: Sequence[float]) -> list[str]:
    """Return numbers as text, fractions to four digits; if one is written with 10^, so are all outside 0.1 to 1000."""
    values = [value if float(value).is_integer() else float(f"{value:.4g}") for value in values]
    words = [MATH.number(value) for value in values]
    return [MATH.number(value, (0.1, 1e3)) for value in values] if any("10^" in word for word in words) else words


def label_log(drawn: DrawnAxis, low: float, high: float) -> None:
    """Set major ticks with labels, and no minor ticks, on a log axis from low to high."""
    ticks = log_ticks(low, high)
    drawn.set_ticks(ticks, numbers(ticks))
    drawn.set_ticks([], minor=True)


def number_ends(drawn: DrawnAxis, norm: Normalize, most: int) -> None:
    """Set about `most` ticks on the axis of a colour bar: both ends of `norm`, and round numbers between them."""
    low, high = float(norm.vmin or 0.0), float(norm.vmax or 1.0)
    within = log_ticks(low, high, most) if isinstance(norm, LogNorm) else _inside(ROUND, low, high)
    apart = (0.9 if isinstance(norm, LogNorm) else 0.5) / most
    ticks = [low, *(tick for tick in within if apart < float(norm(tick)) < 1 - apart), high]
    drawn.set_ticks(ticks, numbers([float(f"{tick:.2g}") for tick in ticks]))
    drawn.set_ticks([], minor=True)


def render(figure: Figure, kind: str, dots: int | None = None) -> bytes:
    """Return a figure as a png, svg or pdf file, at print resolution or `dots` per inch, always with the same bytes."""
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with matplotlib.rc_context(FILES):
        figure.savefig(buffer, format=kind, metadata=dates.get(kind), dpi=dots)
    return buffer.getvalue()
