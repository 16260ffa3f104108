"""A diagram as a matplotlib figure for print: one panel a combination of the other axes, theory curves on top."""

from collections.abc import Sequence
from functools import cache
from io import BytesIO
from math import ceil
from textwrap import wrap
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from recovery.report.claims import Analysis, brief
from recovery.report.diagram import Diagram, Panel, Scale, lines, scale_of
from recovery.report.figures.style import COLOURS, CURVES, DASHES, ONE_COLUMN, RC, TWO_COLUMNS, WIDTHS
from recovery.report.statistics import sizes_in_words
from recovery.types import Array

CHARACTERS = 15
"""About so many letters of a panel's title fit into an inch."""
MARK = 7
"""Letters' room that a legend's mark takes."""
FREE = "0.55"
"""Grey of the intervals that no curve is fitted for."""
LARGE = 10_000
"""From this many cells a panel on, a vector file holds the mesh as a picture."""


def draw(analysis: Analysis) -> Figure:
    """The whole diagram with its thresholds, 3.45 inches wide with one panel and 7.1 with more, on shared axes."""
    diagram = analysis.diagram
    panels = diagram.panels
    across = 1 if len(panels) == 1 else 2 if len(panels) in (2, 4) else min(3 if len(panels) <= 9 else 4, len(panels))
    up = ceil(len(panels) / across)
    width = ONE_COLUMN if across == 1 else TWO_COLUMNS
    height = width / across * 0.74 * up + (1.0 if across == 1 else 0.7)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(up, across, sharex=True, sharey=True, squeeze=False)
        scale = scale_of(diagram)
        for i, (panel, ax) in enumerate(zip(panels, axes.flat, strict=False)):
            mesh = _heat(ax, panel, scale)
            _mark(ax, panel)
            handles = _overlay(ax, diagram) + _thresholds(ax, analysis, i)
            if len(panels) > 1:
                name_panel(ax, f"({letters(i)}) {panel.title}", width / across)
        ends = [edges(panel.x)[[0, -1]] for panel in panels]
        axes[0, 0].set_xlim(np.min(ends), np.max(ends))  # an interval that leaves the grid is cut, not followed
        for ax in list(axes.flat)[len(panels) :]:
            ax.set_axis_off()
        for ax in axes[:, 0]:
            ax.set_ylabel(axis_label(diagram.layout.y))
        for column in range(across):
            ax = axes[[i for i in range(up) if i * across + column < len(panels)][-1], column]
            ax.set_xlabel(axis_label(diagram.layout.x))
            ax.tick_params(labelbottom=True)
        bar = figure.colorbar(
            mesh, ax=axes, label=scale.label, shrink=0.9 if up == 1 else 0.6, aspect=24, pad=0.015, extend=scale.extend
        )
        bar.outline.set_linewidth(0.6)
        figure.suptitle(heading(diagram.title, across), fontsize=9)
        handles += _mark_handles(diagram)
        columns = legend_columns([str(handle.get_label()) for handle in handles], width)
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
    return figure


def name_panel(ax: Axes, title: str, width: float) -> None:
    """The panel's title at its left, over so many inches; above the threshold's words where both do not fit on one
    line, and those in two lines where they are wider than the panel."""
    characters, title = int(CHARACTERS * width), plain(title)
    found = ax.get_title(loc="right")
    if len(found) > 1.15 * characters:  # their letters are smaller
        found = found.replace(", mean", "\nmean")
        ax.set_title(found, loc="right", fontsize=6.5)
    if len(title) + len(found) > characters:
        below = [""] * (1 + found.count("\n")) if found else []
        title = "\n".join([*wrap(title, characters), *below])
    ax.set_title(title, loc="left", fontsize=None if characters >= CHARACTERS * TWO_COLUMNS / 3 - 1 else 6.5)


def render(figure: Figure, kind: str, dots: int | None = None) -> bytes:
    """The figure's file of one kind: png, svg or pdf, at print resolution or so many dots an inch. The same figure
    gives the same bytes."""
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with matplotlib.rc_context(RC):
        figure.savefig(buffer, format=kind, metadata=dates.get(kind), dpi=dots or RC["savefig.dpi"])
    return buffer.getvalue()


def legend_columns(labels: Sequence[str], width: float) -> int:
    """As many columns, up to five, as a legend of these labels may have over so many inches."""
    for columns in range(min(5, len(labels)), 1, -1):
        lengths = np.array_split([len(label) + MARK for label in labels], columns)
        if sum(int(column.max()) for column in lengths) <= CHARACTERS * width:
            return columns
    return 1


def axis_label(name: str | None) -> str:
    """A coordinate for an axis: the last part of its path, in words."""
    return (name or "").split(".")[-1].replace("_", " ")


def heading(text: str, across: int) -> str:
    """A title in lines that fit one column, or two where panels stand side by side."""
    return "\n".join(wrap(plain(text), 46 if across == 1 else 100))


def letters(i: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    return ("" if i < 26 else letters(i // 26 - 1)) + chr(ord("a") + i % 26)


def plain(text: str) -> str:
    """Text that matplotlib shows as it stands: dollars are no mathematics, one line stays one line, and what the
    font lacks becomes U+FFFD."""
    shown = "".join(c if ord(c) in _glyphs() else "\ufffd" for c in " ".join(text.split()))
    return shown.replace("$", r"\$")


@cache
def _glyphs() -> frozenset[int]:
    return frozenset(get_font(findfont(RC["font.family"])).get_charmap())


def edges(values: Sequence[Any]) -> Array:
    """Cell borders half way between an axis's values; of words, between 0, 1, 2, ..."""
    centres = positions(values)
    if len(centres) == 1:
        half = max(abs(float(centres[0])) / 2, 0.5)
        return np.array([centres[0] - half, centres[0] + half])
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])


def positions(values: Sequence[Any]) -> Array:
    """Where an axis's values stand: at themselves, or at 0, 1, 2, ... where they are words."""
    try:
        numbers = np.array(values, dtype=float)
    except (TypeError, ValueError):
        return np.arange(len(values), dtype=float)
    return numbers if np.isfinite(numbers).all() else np.arange(len(values), dtype=float)


def _heat(ax: Axes, panel: Panel, scale: Scale) -> Any:
    norm = LogNorm(*scale.limits) if scale.logarithmic else Normalize(*scale.limits)
    values = np.ma.masked_invalid(scale.clipped(panel.matrix("value")))
    large = values.size > LARGE
    mesh = ax.pcolormesh(edges(panel.x), edges(panel.y), values, cmap=COLOURS, norm=norm, rasterized=large)
    if not large:
        mesh.set_edgecolor("face")
        mesh.set_linewidth(0.15)
    ax.set_facecolor("white")
    if panel.undefined:
        ax.text(0.5, 0.5, "not measured here", transform=ax.transAxes, ha="center", va="center", color="0.35")
    for axis, values_ in ((ax.xaxis, panel.x), (ax.yaxis, panel.y)):
        if not np.array_equal(positions(values_), np.asarray(values_, dtype=object)) and values_ != [None]:
            axis.set_ticks(positions(values_), [plain(str(value)) for value in values_])
        elif values_ == [None]:
            axis.set_ticks([])
    return mesh


def _mark(ax: Axes, panel: Panel) -> None:
    """A stroke across every cell with failed or missing trials, a cross where none finished, a dot for undecided."""
    x, y, cells = edges(panel.x), edges(panel.y), panel.cells
    left, right = _inner(x[cells["ix"]], x[cells["ix"] + 1])
    low, high = _inner(y[cells["iy"]], y[cells["iy"] + 1])
    unfinished = ((cells["failed"] > 0) | (cells["missing"] > 0)).to_numpy()
    nothing = (cells["ok"] == 0).to_numpy()
    up = np.stack([np.stack([left, low], 1), np.stack([right, high], 1)], 1)
    down = np.stack([np.stack([left, high], 1), np.stack([right, low], 1)], 1)
    for segments in (up[unfinished], down[nothing]):
        strokes = LineCollection(list(segments), colors="black", linewidths=0.7, zorder=3)
        strokes.set_path_effects([Stroke(linewidth=1.6, foreground="white"), Normal()])
        ax.add_collection(strokes, autolim=False)
    dots = (cells["undecided"] > 0).to_numpy()
    ax.plot(((left + right) / 2)[dots], ((low + high) / 2)[dots], "D", ms=2.2, mfc="white", mec="black", mew=0.5)


def _inner(start: Array, end: Array) -> tuple[Array, Array]:
    """The middle two thirds of an interval."""
    return start + (end - start) / 6, end - (end - start) / 6


def _mark_handles(diagram: Diagram) -> list[Line2D]:
    totals = diagram.totals
    handles = []
    style: dict[str, Any] = {"color": "black", "linestyle": "none", "markersize": 5}
    if totals["failed"] or totals["missing"]:
        words = " and ".join(f"{name} ({totals[name]})" for name in ("failed", "missing") if totals[name])
        handles.append(Line2D([], [], marker=[(-1, -1), (1, 1)], label=f"trials {words}", **style))
    if (diagram.table["ok"] == 0).any():
        handles.append(Line2D([], [], marker="x", label="no trial finished", **style))
    if totals["undecided"]:
        style |= {"markersize": 2.5, "markerfacecolor": "white"}
        handles.append(Line2D([], [], marker="D", label=f"trials undecided ({totals['undecided']})", **style))
    return handles


def _thresholds(ax: Axes, analysis: Analysis, i: int) -> list[Line2D]:
    """n50 at every d with its 95 % interval, as far as the axes reach, and the pooled ratio in words."""
    if not analysis.pooled:
        return []
    ax.set_title(brief(analysis.pooled[i]), loc="right", fontsize=6.5)
    if not analysis.slices:
        return []
    found = [(d, t) for d, t in analysis.slices[i] if np.isfinite([t.estimate, t.low, t.high]).all()]
    d, n50 = np.array([d for d, _ in found]), np.array([t.estimate for _, t in found])
    error = np.array([[t.estimate - t.low, t.high - t.estimate] for _, t in found]).reshape(-1, 2).T
    style: dict[str, Any] = {"marker": "o", "ms": 2.4, "mfc": "white", "mec": "black", "mew": 0.6, "linestyle": "none"}
    bars: dict[str, Any] = {"ecolor": "black", "elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8, "zorder": 5.0}
    label = f"50 % at {sizes_in_words(analysis.diagram.panels[i])}, with 95 % interval"
    view = (ax.get_xlim(), ax.get_ylim())
    free = [size for size in analysis.pooled[i].sizes if np.isfinite([size.n50.low, size.n50.high]).all()]
    at, ends = [size.d for size in free], np.array([[size.n50.low, size.n50.high] for size in free]).reshape(-1, 2)
    lines_ = ax.hlines if analysis.diagram.layout.x == "n" else ax.vlines
    lines_(at, *ends.T, color=FREE, linewidth=3.0, alpha=0.7, zorder=4.9)
    if analysis.diagram.layout.x == "n":
        ax.errorbar(n50, d, xerr=error, **style, **bars)
    else:
        ax.errorbar(d, n50, yerr=error, **style, **bars)
    ax.set(xlim=view[0], ylim=view[1])
    band = Line2D([], [], color=FREE, linewidth=3.0, alpha=0.7, label="95 % interval without a curve")
    return [Line2D([], [], color="black", **style, label=label), band]


def _overlay(ax: Axes, diagram: Diagram) -> list[Line2D]:
    """Theory curves; the handles for the legend, one a label."""
    handles: dict[str, Line2D] = {}
    found = lines(diagram)
    main = list(dict.fromkeys(line.label for line in found if not line.secondary))
    for line in found:
        rank = main.index(line.label) if not line.secondary else 0
        style: dict[str, Any] = {"color": CURVES[rank % 4], "linestyle": DASHES[rank % 4]}
        style["linewidth"] = 0.8 if line.secondary else WIDTHS[rank % 4]
        if line.secondary:
            style["linestyle"] = (0, (2, 1.2))
        (artist,) = ax.plot(*line.points.T, **style, zorder=4 + rank / 9, scalex=False, scaley=False)
        if not line.secondary:  # seen on the darkest cells too
            artist.set_path_effects([Stroke(linewidth=style["linewidth"] + 1.2, foreground="white"), Normal()])
        handles.setdefault(line.label, Line2D([], [], **style, label=line.label))
    return list(handles.values())
