"""Layout shared by all figures: lettered panels, common axis labels, one legend below, one title above."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP

from recovery.report.diagram import lettered
from recovery.report.figures.style import MOST_TICKS, NO_BREAK_SPACE, Style, font_size, number_ends, plain, wrapped
from recovery.types import Array

LEGEND_MARK = 5.0
"""Width of a legend entry without its text, in font sizes: matplotlib's handlelength, handletextpad and spacing."""
LEGEND_COLUMNS = 5
NARROWEST = 1.6
"""Width of a panel in inches with its labels, at least, unless the config says how many are in a row."""
SLIDE = 9 / 16
"""Height of a slide by its width."""
HIGHEST = 8.5
"""Largest height of a figure of panels in inches: a page with room for a caption. Many rows of panels are flatter."""
FLATTEST = 0.45
"""Height of a panel by its width, at least."""
NARROWED = 0.7
"""Usual width of a panel without its labels, as a fraction of its width with them."""
SHRUNK = 0.6
"""Length of a colour bar beside several rows of panels, as a fraction of their height."""
TEXT = 0.9
"""Largest length of a label, as a fraction of its axis."""
ROOM = 15.0
"""Inches of height for texts while they are measured."""
Share = tuple[bool | Literal["col"], bool | Literal["col"]]
"""Which panels share their x axis, and which their y axis: all, none, or those of a column."""
ARROWS = {True: (CARETLEFT, CARETRIGHT), False: (CARETDOWN, CARETUP)}
"""Whether values are along x -> the marks of values below and above the axis."""
FEW_TICKS = 4
"""Most labels of a colour bar that is below a panel."""


@dataclass
class Sheet:
    """A figure under construction and the axes of its panels, row by row, for use inside the context of `sheet`.

    height: the height of a panel in inches, if its content decides it; otherwise it is `aspect` times the width. fixed:
    the values that all panels have in common, in words.
    """

    figure: Figure
    axes: list[Axes]
    rows: int
    columns: int
    style: Style
    aspect: float
    height: float = 0.0
    fixed: str = ""
    legend: dict[str, Any] = field(default_factory=dict)

    def name(self, i: int, title: str, right: str = "") -> None:
        """Set the title of panel i, after its letter, and below it a text at the right."""
        left = self.axes[i].set_title(lettered(i, len(self.axes) if title else 1, title), loc="left")
        left.set_in_layout(False)  # until it is wrapped
        self.axes[i].set_title(re.sub("(?<!,) ", NO_BREAK_SPACE, right), loc="right", fontsize=self.small)

    @property
    def small(self) -> float:
        """Font size of the texts at the right above panels."""
        return 6.5 * self.style.magnification

    def label(self, x: Sequence[str], y: Sequence[str]) -> None:
        """Label the x axis of the lowest panel of each column and the y axis of the first panel of each row. x, y: one
        name for each panel; if they differ, all panels are labelled."""
        for i, (ax, across, up) in enumerate(zip(self.axes, x, y, strict=True)):
            if i + self.columns >= len(self.axes) or len({*x}) > 1:
                ax.set_xlabel(across)
                ax.tick_params(labelbottom=True)
            if i % self.columns == 0 or len({*y}) > 1:
                ax.set_ylabel(up)
                ax.tick_params(labelleft=True)

    def add(self, handles: Iterable[Any]) -> None:
        """Add handles to the legend, except those whose label it already has."""
        for handle in handles:
            self.legend.setdefault(str(handle.get_label()), handle)

    def remark(self, title: str, names: Sequence[str]) -> None:
        """Add names to the legend, as `title: NAME; NAME`, if there are any."""
        self.add([entry(plain(f"{title}: {'; '.join(names)}"))] if names else [])

    def bar(self, mesh: Any, label: str, extend: str, column: int | None = None) -> None:
        """Add a colour bar: at the right of all panels, or below the panels of one column."""
        below = column is not None
        shrink = 0.9 if below or self.rows == 1 else SHRUNK
        beside, place = (self.axes[column :: self.columns], "bottom") if below else (self.axes, "right")
        size: dict[str, Any] = {"shrink": shrink, "aspect": 24, "fraction": 0.04, "pad": 0.015}
        bar = self.figure.colorbar(mesh, ax=beside, label=label, location=place, extend=extend, **size)
        bar.outline.set_linewidth(0.6)
        number_ends(bar.ax.xaxis if below else bar.ax.yaxis, mesh.norm, FEW_TICKS if below else MOST_TICKS)

    def finish(self, title: str) -> None:
        """Write the legend and the title, wrap the texts above and below panels, and set the height of the figure."""
        figure, wide = self.figure, float(self.figure.get_figwidth())
        self._draw_legend()
        if title and self.style.titled:
            figure.suptitle(wrapped(plain(title), font_size("figure.titlesize"), 0.94 * wide))
        figure.set_figheight(figure.get_figheight() + ROOM)
        room, high, _ = self._measured()
        self._wrap_labels(room, high)
        room = self._measured()[0] if self.columns == 1 else room  # beside others, wrapped labels may take all width
        for row in range(0, len(self.axes), self.columns):
            some = self.axes[row : row + self.columns]
            below = [wrapped(ax.get_title(loc="right"), self.small, room) for ax in some]
            under = max(text.count("\n") + bool(text) for text in below)
            for ax, text in zip(some, below, strict=True):
                above = wrapped(ax.get_title(loc="left"), font_size("axes.titlesize"), room)
                ax.set_title(above + "\n" * under, loc="left").set_in_layout(True)
                ax.set_title(text, loc="right", fontsize=self.small)
        panel, high, texts = self._measured()
        least, most = (texts + self.rows * one for one in (self.height or FLATTEST * panel, high))
        if self.style.spec.width == "slide":  # a slide without enough room is enlarged
            most = max(least, SLIDE * wide)
            figure.set_figwidth(most / SLIDE)
        figure.set_figheight(max(least, min(most, HIGHEST)))
        self._wrap_labels(room, (figure.get_figheight() - texts) / self.rows)

    def _wrap_labels(self, room: float, high: float) -> None:
        """Wrap the labels of axes. room, high: width and height of a panel; a colour bar is beside all rows."""
        for ax in self.figure.axes:
            ax.set_xlabel(wrapped(ax.get_xlabel(), font_size("axes.labelsize"), TEXT * room))
            most = high if ax in self.axes else high * max(SHRUNK * self.rows, 1.0)
            ax.set_ylabel(wrapped(ax.get_ylabel(), font_size("axes.labelsize"), TEXT * most))

    def _measured(self) -> tuple[float, float, float]:
        """Return in inches a panel's width, the height that suits it, and the height of all that is not panels."""
        engine: Any = self.figure.get_layout_engine()
        engine.execute(self.figure)
        wide, high = self.figure.get_size_inches()
        box = self.axes[0].get_position(original=True)
        suited = self.height or self.aspect * max(wide * box.width, NARROWED * wide / self.columns)
        return wide * box.width, suited, high * (1 - self.rows * box.height)

    def _draw_legend(self) -> None:
        """Draw the legend, below the fixed values, in as many columns as fit, of equal length if possible."""
        size, room = font_size("legend.fontsize"), 0.97 * float(self.figure.get_figwidth())
        labels = [wrapped(label, size, room - LEGEND_MARK * size / 72) for label in self.legend]
        style: dict[str, Any] = {"loc": "outside lower center", "title_fontsize": size}
        style |= {"title": wrapped(self.fixed, size, room), "handles": self.legend.values(), "labels": labels}
        if not labels:
            self.figure.supxlabel(style["title"], fontsize=size)
        for rows in range(ceil(len(labels) / LEGEND_COLUMNS), len(labels) + 1) if labels else ():
            columns = ceil(len(labels) / rows)
            legend = self.figure.legend(**style, ncols=columns)
            if columns == 1 or legend.get_window_extent().width / self.figure.dpi <= room:
                break
            legend.remove()


@contextmanager
def sheet(
    count: int, title: str, style: Style, aspect: float = 0.74, columns: int | None = None, share: Share = (True, True)
) -> Iterator[Sheet]:
    """Make a figure of `count` panels, each `aspect` times as high as wide. Inside this context its style is in force;
    title and legend are written at the end. columns: panels in a row, by default by count and width."""
    across = columns or (1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4)
    with matplotlib.rc_context(style.rc):
        wide = style.width(across)
        across = columns or min(across, max(1, int(wide / NARROWEST)))
        up = ceil(count / across)
        figure = Figure(figsize=(wide, wide / across * aspect * up + 0.35), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(up, across, sharex=share[0], sharey=share[1], squeeze=False).ravel().tolist()
        for ax in panels[count:]:
            ax.set_axis_off()
        drawn = Sheet(figure, panels[:count], up, across, style, aspect)
        yield drawn
        drawn.finish(title)


def entry(label: str, **look: Any) -> Line2D:
    """Return a legend entry, by default without a line."""
    return Line2D([], [], **{"linestyle": "none", "color": "black", **look}, label=label)


def interval_handle(words: str) -> ErrorbarContainer:
    """Return the legend entry of vertical error bars."""
    point, bar = entry("", marker="o", ms=2.2), LineCollection([], colors="black", linewidths=0.6)
    return ErrorbarContainer((point, (), (bar,)), has_yerr=True, label=words)


def draw_beyond(ax: Axes, at: Array, values: Array, across: bool, **style: Any) -> Array:
    """Draw an arrow at the end of the axis for each value beyond it, at the positions `at` on the other axis. Returns
    the values moved into the axis, shape (k,). across: the values are along x."""
    inside: Array = np.clip(values, *(ax.get_xlim() if across else ax.get_ylim()))
    for marker, beyond in zip(ARROWS[across], (values < inside, values > inside), strict=True):
        points = (inside[beyond], at[beyond]) if across else (at[beyond], inside[beyond])
        if beyond.any():  # an artist without points that is not clipped spoils the layout
            ax.plot(*points, marker=marker, linestyle="none", scalex=False, scaley=False, **style)
    return inside


def write_note(ax: Axes, note: str) -> None:
    """Write the note, if any, into the middle of a panel: why this shows nothing."""
    if note:
        ax.text(0.5, 0.5, note, transform=ax.transAxes, ha="center", va="center", color="0.35")
