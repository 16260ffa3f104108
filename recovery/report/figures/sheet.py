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
from matplotlib.colors import LogNorm
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram import NOT_MEASURED, Layout, Panel, Script, letters
from recovery.report.figures.style import (
    AROUND_PANELS,
    MOST_TICKS,
    NO_BREAK_SPACE,
    Style,
    font_size,
    label_log,
    plain,
    text_width,
    wrapped,
)

Share = Literal["both", "y", "none", "columns", "rows"]
"""Which axes panels share."""
LEGEND_MARK = 5.0
"""Width of a legend entry without its text, in font sizes: matplotlib's handlelength, handletextpad and spacing."""
SHARED_AXES: dict[Share, tuple[Any, Any]] = {
    "both": (True, True),
    "y": (False, True),
    "none": (False, False),
    "columns": ("col", "col"),
    "rows": ("row", True),
}
PANEL_BAR = 0.7
"""Inches that a colour bar of one panel takes at its right, with its labels."""
HIGHEST = 9.0
"""Largest height of all panels in inches: a page. More rows of panels are less high."""
FULL = 0.6
"""A grid of panels with fewer places filled than this share has no columns in common."""
MOST_COLUMNS = 3
"""Panels beside one another in such a grid."""
BAR_LINES = 3.5
"""Lines of text that a colour bar takes below a panel."""
FEW_TICKS = 4
"""Number of labels on a log scale that fit below a panel."""


@dataclass(frozen=True)
class NamedGrid:
    """The names of rows of panels, the number of columns, and the place (row, column) and the title of each panel."""

    rows: Sequence[str]
    columns: int
    places: Sequence[tuple[int, int]]
    titles: Sequence[str]

    @classmethod
    def of(cls, layout: Layout, panels: Sequence[Panel], script: Script) -> "NamedGrid | None":
        """Build the grid that a config requests, or None if panels follow one another.

        The first panel of each column has the column's name. If fewer than `FULL` of the places have a panel, the rows
        of the same first coordinate are joined without gaps, and each panel has the names of its row and column.
        """
        if layout.columns is None:
            return None
        cut = len(layout.panels) - layout.columns
        down, across = (
            [script.where({name: panel.where[name] for name in names}) for panel in panels]
            for names in (layout.panels[:cut], layout.panels[cut:])
        )
        rows, columns = list(dict.fromkeys(down)), list(dict.fromkeys(across))
        if len(panels) < FULL * len(rows) * len(columns):
            return cls._packed(layout, panels, script)
        places = [(rows.index(row), columns.index(column)) for row, column in zip(down, across, strict=True)]
        top = {column: row for row, column in reversed(places)}
        titles = [columns[column] if top[column] == row else "" for row, column in places]
        return cls(rows, len(columns), places, titles)

    @classmethod
    def _packed(cls, layout: Layout, panels: Sequence[Panel], script: Script) -> "NamedGrid":
        first, *others = layout.panels
        names = [script.where({first: panel.where[first]}) for panel in panels]
        titles = [script.where({name: panel.where[name] for name in others}) for panel in panels]
        rows, places = list[str](), list[tuple[int, int]]()
        for name in names:
            if not rows or rows[-1] != name or places[-1][1] == MOST_COLUMNS - 1:
                rows.append(name)
                places.append((len(rows) - 1, 0))
            else:
                places.append((len(rows) - 1, places[-1][1] + 1))
        return cls(rows, 1 + max(column for _, column in places), places, titles)


@dataclass
class Sheet:
    """A figure under construction and its panels, for use inside the context of `sheet`."""

    figure: Figure
    axes: list[Axes]
    columns: int
    style: Style
    aspect: float
    places: Sequence[tuple[int, int]]
    """Row and column of each panel."""
    grid: NamedGrid | None
    legend: dict[str, Any] = field(default_factory=dict)
    titles: dict[int, tuple[str, str]] = field(default_factory=dict)
    rows_with_bars: set[int] = field(default_factory=set)
    """Rows in which panels have their own colour bars."""

    @property
    def panel_width(self) -> float:
        """Width of a panel in inches, including its labels."""
        return float(self.figure.get_figwidth()) / self.columns

    def outer(self, i: int, side: Literal["top", "left", "right", "bottom"]) -> bool:
        """Return whether panel i is the first of its row or column, counted from this side."""
        along = 0 if side in ("top", "bottom") else 1
        own = self.places[i]
        line = [place[along] for place in self.places if place[1 - along] == own[1 - along]]
        return own[along] == (min(line) if side in ("top", "left") else max(line))

    def name(self, i: int, title: str, right: str = "") -> None:
        """Set the title of panel i, after its letter, and a text at the right of the title.

        In a named grid, the grid's title replaces it, and the row's name is written beside its last panel.
        """
        if self.grid is not None:
            row, _ = self.places[i]
            title = self.grid.titles[i]
            if self.outer(i, "right"):
                self._name_row(self.axes[i], self.grid.rows[row])
        lettered = len(self.axes) > 1 and (title or self.grid is not None)
        self.titles[i] = (f"({letters(i)}) {title}".rstrip() if lettered else title, right)

    def _name_row(self, ax: Axes, words: str) -> None:
        size = font_size("axes.titlesize")
        text = "\n".join(wrapped(words, size, 0.8 * self.panel_width * self.aspect))
        ax.text(1.03, 0.5, text, transform=ax.transAxes, rotation=270, va="center", ha="left", fontsize=size)

    def write_titles(self) -> list[int]:
        """Write the titles and, below them at the right, the other texts; return the number of lines of each panel."""
        size, small = font_size("axes.titlesize"), 6.5 * self.style.magnification
        around = AROUND_PANELS * self.style.magnification * (1.0 if self.grid is None else 1.6)
        bars = PANEL_BAR * self.style.magnification if self.rows_with_bars and self.grid is None else 0.0
        room = (float(self.figure.get_figwidth()) - around) / self.columns - 0.1 - bars
        heights = []
        for i, ax in enumerate(self.axes):
            title, right = self.titles.get(i, ("", ""))
            above = wrapped(title, size, room) if title else []
            below = wrapped(re.sub("(?<!,) ", NO_BREAK_SPACE, right), small, room) if right else []
            ax.set_title("\n".join(above + [""] * len(below)), loc="left")
            ax.set_title("\n".join(below), loc="right", fontsize=small)
            heights.append(len(above) + len(below))
        return heights

    def label(self, x: str, y: str) -> None:
        """Label the x axis of the lowest panel of each column and the y axis of the first panel of each row."""
        for i in range(len(self.axes)):
            self.label_one(i, x if self.outer(i, "bottom") else "", y if self.outer(i, "left") else "")

    def label_one(self, i: int, x: str, y: str) -> None:
        """Label the axes of panel i; an empty name leaves its axis unlabelled."""
        lines = wrapped(y, font_size("axes.labelsize"), 0.85 * self.panel_width * self.aspect)
        if x:
            self.axes[i].set_xlabel(x)
            self.axes[i].tick_params(labelbottom=True)
        if y:
            self.axes[i].set_ylabel("\n".join(lines))
            self.axes[i].tick_params(labelleft=True)

    def add(self, handles: Iterable[Any]) -> None:
        """Add handles to the legend, except those whose label it already has."""
        for handle in handles:
            self.legend.setdefault(str(handle.get_label()), handle)

    def bar(
        self, mesh: Any, label: str, extend: str = "neither", column: int | None = None, panel: int | None = None
    ) -> None:
        """Add a colour bar: at the right of all panels, below the panels of one column, or at the right of one panel.

        In a named grid, a panel's bar is below it, because the names of rows are at the right.
        """
        below = column is not None or (panel is not None and self.grid is not None)
        axes: Any = [ax for ax, place in zip(self.axes, self.places, strict=True) if column in (None, place[1])]
        one_row = len({row for row, _ in self.places}) == 1
        shrink = 0.9 if one_row or column is not None else 0.6
        room = float(self.figure.get_figheight()) if column is None else self.panel_width
        if panel is not None:
            axes, shrink, room = self.axes[panel], 1.0, self.panel_width * (1.0 if below else self.aspect)
            self.rows_with_bars.add(self.places[panel][0])
        bar = self.figure.colorbar(
            mesh,
            ax=axes,
            label="\n".join(wrapped(label, font_size("axes.labelsize"), 0.8 * shrink * room)),
            location="bottom" if below else "right",
            shrink=shrink,
            aspect=24,
            pad=0.015,
            extend=extend,
        )
        bar.outline.set_linewidth(0.6)
        if isinstance(mesh.norm, LogNorm):
            low, high = map(float, mesh.get_clim())
            most = MOST_TICKS if column is None and panel is None else FEW_TICKS
            label_log(bar.ax.xaxis if below else bar.ax.yaxis, low, high, most)


@contextmanager
def sheet(
    count: int,
    title: str,
    style: Style,
    aspect: float = 0.74,
    columns: int | None = None,
    share: Share = "both",
    grid: NamedGrid | None = None,
) -> Iterator[Sheet]:
    """Make a figure of `count` panels, each `aspect` times as high as wide; inside the context its style is in force.

    Titles and legend are written when the context ends. share: which axes panels share, as in `SHARED_AXES`.
    grid: places the panels in named rows and columns.
    """
    across = columns or (1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4)
    up, places = ceil(count / across), [divmod(i, across) for i in range(count)]
    if grid is not None:
        up, across, places = len(grid.rows), grid.columns, list(grid.places)
    with matplotlib.rc_context(style.rc):
        wide = style.width(across)
        aspect = min(aspect, HIGHEST * across / (up * wide))
        figure = Figure(figsize=(wide, wide / across * aspect * up + 0.35), layout="constrained")
        FigureCanvasAgg(figure)
        sharex, sharey = SHARED_AXES[share]
        panels = figure.subplots(up, across, sharex=sharex, sharey=sharey, squeeze=False)
        drawn = Sheet(figure, [panels[place] for place in places], across, style, aspect, places, grid)
        for ax in set(panels.flat) - set(drawn.axes):
            ax.set_axis_off()
        yield drawn
        lines = _draw_legend(drawn)
        highest = [0] * up
        for (row, _), height in zip(places, drawn.write_titles(), strict=True):
            highest[row] = max(highest[row], height)
        lines += sum(highest) - 1.0 + (BAR_LINES * len(drawn.rows_with_bars) if grid is not None else 0.0)
        if title and style.titled:
            size = font_size("figure.titlesize")
            title_lines = wrapped(plain(title), size, 0.94 * wide)
            figure.suptitle("\n".join(title_lines))
            lines += 1.3 * len(title_lines)
        figure.set_figheight(float(figure.get_figheight()) + 0.15 * style.magnification * lines)


def _draw_legend(drawn: Sheet) -> float:
    """Draw the legend in as many columns as fit, and return its height in lines of text."""
    if not drawn.legend:
        return 0.0
    size = font_size("legend.fontsize")
    room = 0.97 * float(drawn.figure.get_figwidth())
    mark = LEGEND_MARK * size / 72
    texts = [wrapped(label, size, room - mark) for label in drawn.legend]
    widest = max(text_width(line, size) for lines in texts for line in lines) + mark
    columns = min(MOST_COLUMNS + 2, len(texts), max(1, int(room / widest)))
    labels = ["\n".join(lines) for lines in texts]
    drawn.figure.legend(drawn.legend.values(), labels, loc="outside lower center", ncols=columns)
    return 1.3 * max(sum(map(len, part)) for part in np.array_split(np.array([*texts], dtype=object), columns))


def interval_handle(words: str) -> ErrorbarContainer:
    """Return the legend entry of error bars."""
    point = Line2D([], [], marker="o", linestyle="none", color="black", ms=2.2)
    bar = LineCollection([], colors="black", linewidths=0.6)
    return ErrorbarContainer((point, (), (bar,)), has_yerr=True, label=words)


def write_not_measured(ax: Axes) -> None:
    """Write into a panel that its method does not measure the value."""
    ax.text(0.5, 0.5, NOT_MEASURED, transform=ax.transAxes, ha="center", va="center", color="0.35")
