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

from recovery.report.diagram import Panel, lettered
from recovery.report.figures.style import (
    AROUND_PANELS,
    MOST_TICKS,
    NO_BREAK_SPACE,
    Style,
    font_size,
    number_ends,
    plain,
    text_width,
    wrapped,
)

LEGEND_MARK = 5.0
"""Width of a legend entry without its text, in font sizes: matplotlib's handlelength, handletextpad and spacing."""
MOST_COLUMNS = 5
"""Columns of a legend."""
NARROWEST = 1.6
"""Width of a panel in inches with its labels, at least, unless the config says how many are in a row."""
SLIDE = 9 / 16
"""Height of a slide by its width."""
HIGHEST = 8.5
"""Largest height of a figure of panels in inches: a page with room for a caption. More rows of panels are less high."""
LOWERED = 0.4
"""Part of the height of the panels that a figure may lose so that it is not too high."""
Share = bool | Literal["col"]
"""Which panels share an axis: all, none, or those of a column."""
NUMBER = 0.35
"""Width in inches of the labels of a y axis that `AROUND_PANELS` contains."""
FEW_TICKS = 4
"""Number of labels of a colour bar that fit below a panel."""


@dataclass
class Sheet:
    """A figure under construction and its panels, row by row, for use inside the context of `sheet`."""

    figure: Figure
    axes: list[Axes]
    columns: int
    style: Style
    aspect: float
    highest: float
    legend: dict[str, Any] = field(default_factory=dict)
    titles: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def panel_width(self) -> float:
        """Width of a panel in inches, including its labels."""
        return float(self.figure.get_figwidth()) / self.columns

    @property
    def text_room(self) -> float:
        """Width in inches of a text above or below a panel."""
        size, labels = font_size("ytick.labelsize"), self.axes[0].get_yticklabels()
        wide = max((text_width(label.get_text(), size) for label in labels), default=0.0)
        around = AROUND_PANELS * self.style.magnification + max(wide - NUMBER * self.style.magnification, 0.0)
        return self.panel_width - around / self.columns - 0.1

    def first(self, i: int) -> bool:
        """Return whether panel i is the first of its row."""
        return i % self.columns == 0

    def lowest(self, i: int) -> bool:
        """Return whether panel i is the last of its column."""
        return i + self.columns >= len(self.axes)

    def name(self, i: int, title: str, right: str = "") -> None:
        """Set the title of panel i, after its letter, and a text at the right of the title."""
        self.titles[i] = (lettered(i, len(self.axes) if title else 1, title), right)

    def write_titles(self) -> float:
        """Write the titles and, below them at the right, the other texts; return the number of lines of all rows."""
        size, small = font_size("axes.titlesize"), 6.5 * self.style.magnification
        texts = [self.titles.get(i, ("", "")) for i in range(len(self.axes))]
        rights = [re.sub("(?<!,) ", NO_BREAK_SPACE, right) for _, right in texts]
        above = [wrapped(title, size, self.text_room) if title else [] for title, _ in texts]
        below = [wrapped(right, small, self.text_room) if right else [] for right in rights]
        height = 0
        for row in range(0, len(self.axes), self.columns):
            some = range(row, min(row + self.columns, len(self.axes)))
            under = max(len(below[i]) for i in some)
            for i in some:
                self.axes[i].set_title("\n".join(above[i] + [""] * under), loc="left")
                self.axes[i].set_title("\n".join(below[i]), loc="right", fontsize=small)
            height += under + max(len(above[i]) for i in some)
        return float(height)

    def label(self, x: str, y: str) -> None:
        """Label the x axis of the lowest panel of each column and the y axis of the first panel of each row."""
        for i in range(len(self.axes)):
            self.label_one(i, x if self.lowest(i) else "", y if self.first(i) else "")

    def label_one(self, i: int, x: str, y: str) -> None:
        """Label the axes of panel i; an empty name leaves its axis unlabelled."""
        lines = wrapped(y, font_size("axes.labelsize"), 0.85 * self.panel_width * self.aspect)
        if x:
            self.axes[i].set_xlabel("\n".join(wrapped(x, font_size("axes.labelsize"), self.text_room)))
            self.axes[i].tick_params(labelbottom=True)
        if y:
            self.axes[i].set_ylabel("\n".join(lines))
            self.axes[i].tick_params(labelleft=True)

    def add(self, handles: Iterable[Any]) -> None:
        """Add handles to the legend, except those whose label it already has."""
        for handle in handles:
            self.legend.setdefault(str(handle.get_label()), handle)

    def remark(self, title: str, names: Sequence[str]) -> None:
        """Add names to the legend, as `title: NAME; NAME`, if there are any."""
        self.add([Line2D([], [], linestyle="none", label=plain(f"{title}: {'; '.join(names)}"))] if names else [])

    def bar(self, mesh: Any, label: str, extend: str = "neither", column: int | None = None) -> None:
        """Add a colour bar: at the right of all panels, or below the panels of one column."""
        below = column is not None
        shrink = 0.9 if below or len(self.axes) <= self.columns else 0.6
        room = self.panel_width if below else float(self.figure.get_figheight())
        bar = self.figure.colorbar(
            mesh,
            ax=self.axes[column :: self.columns] if below else self.axes,
            label="\n".join(wrapped(label, font_size("axes.labelsize"), 0.8 * shrink * room)),
            location="bottom" if below else "right",
            shrink=shrink,
            aspect=24,
            pad=0.015,
            extend=extend,
        )
        bar.outline.set_linewidth(0.6)
        number_ends(bar.ax.xaxis if below else bar.ax.yaxis, mesh.norm, FEW_TICKS if below else MOST_TICKS)


@contextmanager
def sheet(
    count: int,
    title: str,
    style: Style,
    aspect: float = 0.74,
    columns: int | None = None,
    share: tuple[Share, Share] = (True, True),
) -> Iterator[Sheet]:
    """Make a figure of `count` panels, each `aspect` times as high as wide; inside the context its style is in force.

    Titles and legend are written when the context ends. share: which panels share x, and which share y.
    """
    across = columns or (1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4)
    with matplotlib.rc_context(style.rc):
        wide = style.width(across)
        across = columns or min(across, max(1, int(wide / NARROWEST)))
        up = ceil(count / across)
        slide = style.spec.width == "slide"
        highest = SLIDE * wide if slide else HIGHEST
        aspect = min(aspect, (0.7 if slide else 1) * highest * across / (up * wide))
        figure = Figure(figsize=(wide, wide / across * aspect * up + 0.35), layout="constrained")
        FigureCanvasAgg(figure)
        sharex, sharey = share
        panels = figure.subplots(up, across, sharex=sharex, sharey=sharey, squeeze=False).ravel().tolist()
        for ax in panels[count:]:
            ax.set_axis_off()
        drawn = Sheet(figure, panels[:count], across, style, aspect, highest)
        yield drawn
        lines = _draw_legend(drawn) + drawn.write_titles() - 1.0
        ticks = [
            (label, np.sin(np.deg2rad(label.get_rotation()))) for ax in drawn.axes for label in ax.get_xticklabels()
        ]
        rise = max(text_width(label.get_text(), font_size("xtick.labelsize")) * sine for label, sine in ticks)
        if title and style.titled:
            title_lines = wrapped(plain(title), font_size("figure.titlesize"), 0.94 * float(figure.get_figwidth()))
            figure.suptitle("\n".join(title_lines))
            lines += 1.3 * len(title_lines)
        own = float(figure.get_figheight())
        high = own + rise + 0.15 * style.magnification * lines
        high = min(high, max(drawn.highest, high - LOWERED * own))
        if slide:  # one that has not enough room is larger
            high = max(high, SLIDE * wide)
            figure.set_figwidth(high / SLIDE)
        figure.set_figheight(high)


def _draw_legend(drawn: Sheet) -> float:
    """Draw the legend in as many columns as fit, and return its height in lines of text."""
    if not drawn.legend:
        return 0.0
    size = font_size("legend.fontsize")
    room, mark = 0.97 * float(drawn.figure.get_figwidth()), LEGEND_MARK * size / 72
    texts = [wrapped(label, size, room - mark) for label in drawn.legend]
    wide = [max(text_width(line, size) for line in lines) + mark for lines in texts]
    full = {ceil(len(wide) / rows) for rows in range(1, len(wide) + 1)}.intersection(range(1, MOST_COLUMNS + 1))
    columns = max(k for k in full if k == 1 or sum(map(max, np.array_split(wide, k))) <= room)
    labels = ["\n".join(lines) for lines in texts]
    drawn.figure.legend(drawn.legend.values(), labels, loc="outside lower center", ncols=columns)
    return 1.3 * max(sum(map(len, part)) for part in np.array_split(np.array([*texts], dtype=object), columns))


def interval_handle(words: str, across: bool = False) -> ErrorbarContainer:
    """Return the legend entry of error bars, which are vertical or go across."""
    point = Line2D([], [], marker="o", linestyle="none", color="black", ms=2.2)
    bar = LineCollection([], colors="black", linewidths=0.6)
    return ErrorbarContainer((point, (), (bar,)), has_xerr=across, has_yerr=not across, label=words)


def write_note(ax: Axes, panel: Panel) -> None:
    """Write into a panel why it shows nothing, if it does not."""
    if panel.note:
        ax.text(0.5, 0.5, panel.note, transform=ax.transAxes, ha="center", va="center", color="0.35")
