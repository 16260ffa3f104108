"""The skeleton of every figure: panels with letters, shared labels, one key below, one title above, nothing cut."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from math import ceil
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from recovery.report.diagram import Axis, log_ticks
from recovery.report.figures.names import letters, number, plain, value_label
from recovery.report.figures.style import FILES, Style

GAP = 5.0
"""Font sizes that a legend's mark and the room beside it take: matplotlib's handlelength, handletextpad, spacing."""
UNBROKEN = "\u00a0"


@dataclass
class Sheet:
    """A figure with its panels; fill it inside `sheet`."""

    figure: Figure
    axes: list[Axes]
    across: int
    style: Style
    aspect: float
    key: dict[str, Any] = field(default_factory=dict)
    titles: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def room(self) -> float:
        """Inches that a panel has, its labels included."""
        return float(self.figure.get_figwidth()) / self.across

    def name(self, i: int, title: str, right: str = "") -> None:
        """What stands above a panel: letter and title at its left, words at its right."""
        self.titles[i] = (f"({letters(i)}) {title}" if len(self.axes) > 1 and title else title, right)

    def write_titles(self) -> list[int]:
        """Set the titles: words beside all of them, or, where one of them lacks the room, below all of them. Returns
        the lines that each panel's takes."""
        size, small = (float(matplotlib.rcParams["axes.titlesize"]), 6.5 * self.style.larger)
        room = 0.8 * self.room
        named = [self.titles.get(i, ("", "")) for i in range(len(self.axes))]
        beside = all(width(title, size) + width(right, small) + 0.1 <= room for title, right in named)
        lines = [wrapped(title, size, room) if title else [] for title, _ in named]
        words = [wrapped(right, small, room) if right else [] for _, right in named]
        below = 0 if beside else max(map(len, words))
        for ax, left, right in zip(self.axes, lines, words, strict=True):
            ax.set_title("\n".join(left + [""] * below), loc="left")
            ax.set_title("\n".join(right), loc="right", fontsize=small)
        return [max(len(left) + below, len(right)) for left, right in zip(lines, words, strict=True)]

    def label(self, x: str, y: str, every: bool = False) -> None:
        """Name the axes: x below the lowest panel of each column, y beside the first of each row; or on every panel."""
        high = 0.85 * self.room * self.aspect
        y = "\n".join(wrapped(y, float(matplotlib.rcParams["axes.labelsize"]), high))
        for i, ax in enumerate(self.axes):
            if every or i + self.across >= len(self.axes):
                ax.set_xlabel(x)
                ax.tick_params(labelbottom=True)
            if every or i % self.across == 0:
                ax.set_ylabel(y)

    def add(self, handles: Iterable[Any]) -> None:
        """Entries of the key; a label that is there already stays one entry."""
        for handle in handles:
            self.key.setdefault(str(handle.get_label()), handle)

    def bar(self, mesh: Any, label: str, extend: str = "neither") -> None:
        """A colour bar at the right of all panels."""
        up = ceil(len(self.axes) / self.across)
        shrink = 0.9 if up == 1 else 0.6
        size = float(matplotlib.rcParams["axes.labelsize"])
        lines = wrapped(label, size, 0.8 * shrink * float(self.figure.get_figheight()))
        bar = self.figure.colorbar(
            mesh, ax=self.axes, label="\n".join(lines), shrink=shrink, aspect=24, pad=0.015, extend=extend
        )
        bar.outline.set_linewidth(0.6)
        if isinstance(mesh.norm, LogNorm):
            label_log(bar.ax.yaxis, *map(float, mesh.get_clim()))


@contextmanager
def sheet(
    count: int,
    title: str,
    style: Style,
    aspect: float = 0.74,
    columns: int | None = None,
    share: Literal["both", "y", "none"] = "both",
) -> Iterator[Sheet]:
    """A figure of so many panels, each `aspect` times as high as wide; what is drawn inside the block has its style."""
    across = columns or (1 if count == 1 else 2 if count in (2, 4) else 3 if count <= 9 else 4)
    up = ceil(count / across)
    with matplotlib.rc_context(style.rc):
        wide = style.width(across)
        figure = Figure(figsize=(wide, wide / across * aspect * up + 0.35), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(up, across, sharex=share == "both", sharey=share != "none", squeeze=False)
        axes = list(grid.flat)
        found = Sheet(figure, axes[:count], across, style, aspect)
        yield found
        for ax in axes[count:]:
            ax.set_axis_off()
        rows = _legend(found)
        lines_of = found.write_titles()
        rows += sum(max(lines_of[i : i + across]) for i in range(0, len(lines_of), across)) - 1.0
        if title and style.spec.title:
            size = float(matplotlib.rcParams["figure.titlesize"])
            lines = wrapped(plain(title), size, 0.94 * wide)
            figure.suptitle("\n".join(lines))
            rows += 1.3 * len(lines)
        figure.set_figheight(float(figure.get_figheight()) + 0.15 * style.larger * rows)


def _legend(found: Sheet) -> float:
    """Draw the key in as many columns as its width allows; returns how many lines it takes."""
    if not found.key:
        return 0.0
    size = float(matplotlib.rcParams["legend.fontsize"])
    room = 0.97 * float(found.figure.get_figwidth())
    texts = {label: wrapped(label, size, room - GAP * size / 72) for label in found.key}
    columns = legend_columns([max(lines, key=len) for lines in texts.values()], room, size)
    labels = ["\n".join(lines) for lines in texts.values()]
    found.figure.legend(found.key.values(), labels, loc="outside lower center", ncols=columns)
    return 1.3 * max(sum(map(len, part)) for part in np.array_split(np.array([*texts.values()], dtype=object), columns))


def legend_columns(labels: Sequence[str], room: float, size: float) -> int:
    """As many columns, up to five, as a legend of these labels may have over so many inches."""
    widths = [width(label, size) + GAP * size / 72 for label in labels]
    for columns in range(min(5, len(labels)), 1, -1):
        if sum(float(part.max()) for part in np.array_split(np.array(widths), columns)) <= room:
            return columns
    return 1


def wrapped(text: str, size: float, room: float) -> list[str]:
    """Text in lines of at most so many inches, broken between words; `a = b` stays on one line."""
    lines: list[str] = []
    whole = re.sub(r"\$[^$]*\$", lambda found: found[0].replace(" ", UNBROKEN), text)
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
    box = TextPath((0, 0), text.replace(UNBROKEN, " "), size=size, prop=FontProperties(family=[family])).get_extents()
    return float(box.width) / 72


def set_axis(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    """Scale and ticks: labels at values that exist, words as words, log axes as powers."""
    drawn = ax.xaxis if which == "x" else ax.yaxis
    if axis.kind == "log":
        (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    ticks = [] if list(axis.values) == [None] else axis.ticks
    drawn.set_ticks([at for at, _ in ticks], [value_label(value) for _, value in ticks])
    drawn.set_ticks([], minor=True)
    if which == "x" and sum(len(value_label(value)) for _, value in ticks) > 28:
        ax.tick_params(axis="x", rotation=30)


def label_log(drawn: DrawnAxis, low: float, high: float) -> None:
    """Ticks of a log axis from low to high: few, as plain numbers where those are short, none between them."""
    ticks = log_ticks(low, high)
    drawn.set_ticks(ticks, [number(tick) for tick in ticks])
    drawn.set_ticks([], minor=True)


def not_measured(ax: Axes) -> None:
    """A panel whose method does not measure the value says so."""
    ax.text(0.5, 0.5, "not measured", transform=ax.transAxes, ha="center", va="center", color="0.35")


def render(figure: Figure, kind: str, dots: int | None = None) -> bytes:
    """The figure's file of one kind: png, svg or pdf, at print resolution or so many dots an inch. The same figure
    gives the same bytes."""
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with matplotlib.rc_context(FILES):
        figure.savefig(buffer, format=kind, metadata=dates.get(kind), dpi=dots or FILES["savefig.dpi"])
    return buffer.getvalue()
