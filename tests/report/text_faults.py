"""Texts of a figure that are cut or lie over another, and panels that are too small to read."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

LEAST = 0.3
"""Inches of width and height of a panel below which nobody can read it."""
BAR = "<colorbar>"
"""Matplotlib's label of the axes of a colour bar."""


@contextmanager
def texts_drawn() -> Iterator[list[Text]]:
    """The texts that matplotlib draws inside the block."""
    found: list[Text] = []
    draw = Text.draw

    def noting(self: Text, renderer: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            found.append(self)
        draw(self, renderer)

    Text.draw = noting  # type: ignore[method-assign,assignment]
    try:
        yield found
    finally:
        Text.draw = draw  # type: ignore[method-assign]


def faults(figure: Figure) -> list[str]:
    """Texts that leave the canvas, pairs of texts that overlap or touch side by side, and panels too small to read."""
    canvas = FigureCanvasAgg(figure)
    if engine := figure.get_layout_engine():
        engine.execute(figure)  # lets the layout settle
    with texts_drawn() as found:
        figure.draw_without_rendering()
    width, height = canvas.get_width_height()
    boxes = [(text.get_text(), _box(text, canvas)) for text in dict.fromkeys(found)]
    cut = [
        f"cut: {text!r}"
        for text, box in boxes
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    panels = [ax.get_window_extent() for ax in figure.axes if ax.axison and ax.get_label() != BAR]
    sizes = [(box.width / figure.dpi, box.height / figure.dpi) for box in panels]
    cut += [f"sliver: a panel of {wide:.2f} x {high:.2f} inches" for wide, high in sizes if min(wide, high) < LEAST]
    for (one, a), (other, b) in combinations(boxes, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if across > -2 and up > 1:
            cut.append(f"overlap: {one!r} and {other!r}")
    return cut


def _box(text: Text, canvas: FigureCanvasAgg) -> Bbox:
    """The pixels of a text, without the empty lines below it that keep room for another."""
    box = text.get_window_extent(canvas.get_renderer())  # type: ignore[no-untyped-call]
    words = text.get_text()
    empty = len(words) - len(words.rstrip("\n"))
    return Bbox([[box.x0, box.y0 + box.height * empty / (words.count("\n") + 1)], [box.x1, box.y1]])
