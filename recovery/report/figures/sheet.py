"""The skeleton of every figure: panels with letters, shared labels, one key below, one title above, nothing cut."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from math import ceil
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram import MOST_TICKS, NOT_MEASURED, Diagram, Layout, Panel, letters
from recovery.report.figures.style import FILES, MATH, UNBROKEN, Style, label_log, plain, style_of, width, wrapped

GAP = 5.0
"""Font sizes that a legend's mark and the room beside it take: matplotlib's handlelength, handletextpad, spacing."""
SHARED: dict[str, tuple[Any, Any]] = {
    "both": (True, True),
    "y": (False, True),
    "none": (False, False),
    "columns": ("col", "col"),
}
BESIDE_AXES = 1.1
"""Inches that the labels at the left and a colour bar at the right take from all panels."""
OWN_BAR = 0.7
"""Inches of a colour bar beside one panel, with its labels."""
BAR_BELOW = 3.5
"""Lines that one below a panel takes."""
FEW_TICKS = 4
"""Labels of a log scale that fit below a panel."""


@dataclass(frozen=True)
class Strips:
    """The names of a grid's rows and columns, and where each panel stands (row, column)."""

    rows: Sequence[str]
    columns: Sequence[str]
    places: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, layout: Layout, panels: Sequence[Panel]) -> "Strips | None":
        """The grid that a config asks for; None for panels one after another."""
        if layout.columns is None:
            return None
        cut = len(layout.panels) - layout.columns
        down, across = (
            [MATH.where({name: panel.where[name] for name in names}) for panel in panels]
            for names in (layout.panels[:cut], layout.panels[cut:])
        )
        rows, columns = list(dict.fromkeys(down)), list(dict.fromkeys(across))
        places = [(rows.index(row), columns.index(column)) for row, column in zip(down, across, strict=True)]
        return cls(rows, columns, places)


@dataclass
class Sheet:
    """A figure with its panels; fill it inside `sheet`."""

    figure: Figure
    axes: list[Axes]
    across: int
    style: Style
    aspect: float
    places: Sequence[tuple[int, int]]
    """Row and column of each panel."""
    strips: Strips | None
    key: dict[str, Any] = field(default_factory=dict)
    titles: dict[int, tuple[str, str]] = field(default_factory=dict)
    barred: set[int] = field(default_factory=set)
    """Rows whose panels have colour bars of their own."""

    @property
    def room(self) -> float:
        """Inches that a panel has, its labels included."""
        return float(self.figure.get_figwidth()) / self.across

    def outer(self, i: int, side: Literal["top", "left", "right", "bottom"]) -> bool:
        """Whether a panel is the first of its row or column from that side."""
        along = 0 if side in ("top", "bottom") else 1
        own = self.places[i]
        line = [place[along] for place in self.places if place[1 - along] == own[1 - along]]
        return own[along] == (min(line) if side in ("top", "left") else max(line))

    def name(self, i: int, title: str, right: str = "") -> None:
        """What stands above a panel: letter and title at its left, words at its right. In a grid, the title is the name
        of the column, above its first panel, and the name of the row stands beside its last."""
        if self.strips is not None:
            row, column = self.places[i]
            title = self.strips.columns[column] if self.outer(i, "top") else ""
            if self.outer(i, "right"):
                self._name_row(self.axes[i], self.strips.rows[row])
        lettered = len(self.axes) > 1 and (title or self.strips is not None)
        self.titles[i] = (f"({letters(i)}) {title}".rstrip() if lettered else title, right)

    def _name_row(self, ax: Axes, words: str) -> None:
        size = float(matplotlib.rcParams["axes.titlesize"])
        text = "\n".join(wrapped(words, size, 0.8 * self.room * self.aspect))
        ax.text(1.03, 0.5, text, transform=ax.transAxes, rotation=270, va="center", ha="left", fontsize=size)

    def write_titles(self) -> list[int]:
        """Set the titles: words beside all of them, or, where one panel lacks the room, below all of them. Returns
        the lines that each panel's takes."""
        size, small = (float(matplotlib.rcParams["axes.titlesize"]), 6.5 * self.style.larger)
        beside_axes = BESIDE_AXES * self.style.larger * (1.0 if self.strips is None else 1.6)
        room = (float(self.figure.get_figwidth()) - beside_axes) / self.across - 0.1 - self.wider()
        named = [self.titles.get(i, ("", "")) for i in range(len(self.axes))]
        beside = all(width(title, size) + width(right, small) + 0.1 <= room for title, right in named)
        lines = [wrapped(title, size, room) if title else [] for title, _ in named]
        words = [wrapped(re.sub("(?<!,) ", UNBROKEN, right), small, room) if right else [] for _, right in named]
        below = dict.fromkeys((row for row, _ in self.places), 0)
        for (row, _), right in zip(self.places, words, strict=True):
            below[row] = 0 if beside else max(below[row], len(right))
        heights = []
        for ax, (row, _), left, right in zip(self.axes, self.places, lines, words, strict=True):
            ax.set_title("\n".join(left + [""] * below[row]), loc="left")
            ax.set_title("\n".join(right), loc="right", fontsize=small)
            heights.append(max(len(left) + below[row], len(right)))
        return heights

    def label(self, x: str, y: str) -> None:
        """Name the axes: x below the lowest panel of each column, y beside the first of each row."""
        for i in range(len(self.axes)):
            self.label_one(i, x if self.outer(i, "bottom") else "", y if self.outer(i, "left") else "")

    def label_one(self, i: int, x: str, y: str) -> None:
        """Name the axes of one panel, as far as there is a name."""
        lines = wrapped(y, float(matplotlib.rcParams["axes.labelsize"]), 0.85 * self.room * self.aspect)
        if x:
            self.axes[i].set_xlabel(x)
            self.axes[i].tick_params(labelbottom=True)
        if y:
            self.axes[i].set_ylabel("\n".join(lines))
            self.axes[i].tick_params(labelleft=True)

    def add(self, handles: Iterable[Any]) -> None:
        """Entries of the key; a label that is there already stays one entry."""
        for handle in handles:
            self.key.setdefault(str(handle.get_label()), handle)

    def bar(
        self, mesh: Any, label: str, extend: str = "neither", column: int | None = None, panel: int | None = None
    ) -> None:
        """A colour bar at the right of all panels, or below those of one column, or of one panel: at its right, or in a
        grid of named rows below it."""
        if panel is not None:
            self._bar_of(panel, mesh, label, extend)
            return
        one_row = len({row for row, _ in self.places}) == 1
        shrink = 0.9 if one_row or column is not None else 0.6
        size = float(matplotlib.rcParams["axes.labelsize"])
        room = float(self.figure.get_figheight()) if column is None else self.room
        axes = [ax for ax, place in zip(self.axes, self.places, strict=True) if column in (None, place[1])]
        bar = self.figure.colorbar(
            mesh,
            ax=axes,
            label="\n".join(wrapped(label, size, 0.8 * shrink * room)),
            location="right" if column is None else "bottom",
            shrink=shrink,
            aspect=24,
            pad=0.015,
            extend=extend,
        )
        bar.outline.set_linewidth(0.6)
        if isinstance(mesh.norm, LogNorm):
            drawn, most = (bar.ax.yaxis, MOST_TICKS) if column is None else (bar.ax.xaxis, FEW_TICKS)
            low, high = map(float, mesh.get_clim())
            label_log(drawn, low, high, most)

    def _bar_of(self, panel: int, mesh: Any, label: str, extend: str) -> None:
        below = self.strips is not None
        size = float(matplotlib.rcParams["axes.labelsize"])
        room = 0.8 * self.room * (1.0 if below else self.aspect)
        bar = self.figure.colorbar(
            mesh,
            ax=self.axes[panel],
            label="\n".join(wrapped(label, size, room)),
            location="bottom" if below else "right",
            aspect=24,
            pad=0.015,
            extend=extend,
        )
        bar.outline.set_linewidth(0.6)
        drawn = bar.ax.xaxis if below else bar.ax.yaxis
        if isinstance(mesh.norm, LogNorm):
            low, high = map(float, mesh.get_clim())
            label_log(drawn, low, high, FEW_TICKS)
        self.barred.add(self.places[panel][0])

    def wider(self) -> float:
        """Inches that colour bars of their own take from each panel."""
        return OWN_BAR * self.style.larger if self.barred and self.strips is None else 0.0


@contextmanager
def sheet(
    count: int,
    title: str,
    style: Style,
    aspect: float = 0.74,
    columns: int | None = None,
    share: Literal["both", "y", "none", "columns"] = "both",
    strips: Strips | None = None,
) -> Iterator[Sheet]:
    """A figure of so many panels, each `aspect` times as high as wide; what is drawn inside the block has its style.
    strips: for panels in a grid of named rows and columns."""
    across = columns or (1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4)
    up, places = ceil(count / across), [divmod(i, across) for i in range(count)]
    if strips is not None:
        up, across, places = len(strips.rows), len(strips.columns), list(strips.places)
    with matplotlib.rc_context(style.rc):
        wide = style.width(across)
        figure = Figure(figsize=(wide, wide / across * aspect * up + 0.35), layout="constrained")
        FigureCanvasAgg(figure)
        sharex, sharey = SHARED[share]
        grid = figure.subplots(up, across, sharex=sharex, sharey=sharey, squeeze=False)
        drawn = Sheet(figure, [grid[place] for place in places], across, style, aspect, places, strips)
        for ax in set(grid.flat) - set(drawn.axes):
            ax.set_axis_off()
        yield drawn
        rows = _legend(drawn)
        lines_of = drawn.write_titles()
        highest = [0] * up
        for (row, _), height in zip(places, lines_of, strict=True):
            highest[row] = max(highest[row], height)
        rows += sum(highest) - 1.0 + (BAR_BELOW * len(drawn.barred) if strips is not None else 0.0)
        if title and style.spec.title:
            size = float(matplotlib.rcParams["figure.titlesize"])
            lines = wrapped(plain(title), size, 0.94 * wide)
            figure.suptitle("\n".join(lines))
            rows += 1.3 * len(lines)
        figure.set_figheight(float(figure.get_figheight()) + 0.15 * style.larger * rows)


def panel_sheet(
    diagram: Diagram,
    panels: Sequence[Panel],
    title: str | None = None,
    aspect: float = 0.74,
    share: Literal["both", "y"] = "both",
) -> AbstractContextManager[Sheet]:
    """A sheet for the panels of a diagram, with its heading and style, and in a grid where its config asks for one."""
    heading = diagram.heading if title is None else title
    strips = Strips.of(diagram.layout, panels)
    return sheet(len(panels), heading, style_of(diagram), aspect, share=share, strips=strips)


def _legend(drawn: Sheet) -> float:
    """Draw the key in as many columns as its width allows; returns how many lines it takes."""
    if not drawn.key:
        return 0.0
    size = float(matplotlib.rcParams["legend.fontsize"])
    room = 0.97 * float(drawn.figure.get_figwidth())
    texts = {label: wrapped(label, size, room - GAP * size / 72) for label in drawn.key}
    columns = legend_columns([max(lines, key=len) for lines in texts.values()], room, size)
    labels = ["\n".join(lines) for lines in texts.values()]
    drawn.figure.legend(drawn.key.values(), labels, loc="outside lower center", ncols=columns)
    return 1.3 * max(sum(map(len, part)) for part in np.array_split(np.array([*texts.values()], dtype=object), columns))


def legend_columns(labels: Sequence[str], room: float, size: float) -> int:
    """As many columns, up to five, as a legend of these labels may have over so many inches."""
    widths = [width(label, size) + GAP * size / 72 for label in labels]
    for columns in range(min(5, len(labels)), 1, -1):
        if sum(float(part.max()) for part in np.array_split(np.array(widths), columns)) <= room:
            return columns
    return 1


def interval_handle(words: str) -> Line2D:
    """The entry of a key for the bars of points."""
    return Line2D([], [], marker="|", linestyle="none", color="black", ms=7, mew=0.5, label=words)


def not_measured(ax: Axes) -> None:
    """A panel whose method does not measure the value says so."""
    ax.text(0.5, 0.5, NOT_MEASURED, transform=ax.transAxes, ha="center", va="center", color="0.35")


def render(figure: Figure, kind: str, dots: int | None = None) -> bytes:
    """The figure's file of one kind: png, svg or pdf, at print resolution or so many dots an inch. The same figure
    gives the same bytes."""
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with matplotlib.rc_context(FILES):
        figure.savefig(buffer, format=kind, metadata=dates.get(kind), dpi=dots or FILES["savefig.dpi"])
    return buffer.getvalue()
