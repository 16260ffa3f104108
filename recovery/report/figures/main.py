"""The figure of a report, and those that stand beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.figures.kinds import KINDS, Kind, Subject
from recovery.report.figures.quantities import draw_quantities, names_of_axes
from recovery.report.statistics import poolable


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn, and a sentence that stands for it."""

    words: str
    draw: Callable[[], Figure]


def main_figure(analysis: Analysis) -> tuple[str, Drawing]:
    """The kind and the figure of a report; where several quantities are shown, `quantities`: all side by side."""
    diagram, name = analysis.diagram, main_kind(analysis)
    if not diagram.beside:
        return name, _drawing(KINDS[name], Subject(analysis))
    others = [Analysis(one) for one in diagram.one_by_one[1:]]
    shown = [(one, main_kind(one)) for one in (analysis, *others)]
    words = ", ".join(one.diagram.quantity.label for one, _ in shown)
    return "quantities", Drawing(f"Side by side: {words}", partial(draw_quantities, shown))


def main_kind(analysis: Analysis) -> str:
    """The kind that the config asks for, or a map, or where that would say little, lines."""
    asked = analysis.diagram.sweep.report.figure
    if asked == "ratios" and not poolable(analysis.diagram):
        raise ReportError("report.figure is ratios, which are of a fraction over n and d; take map or profile")
    if asked != "auto":
        return asked
    subject = Subject(analysis)
    return next(name for name, kind in reversed(KINDS.items()) if kind.panel is not None and kind.fits(subject))


def figures_beside(analysis: Analysis) -> dict[str, Drawing]:
    """Name -> figure, of all other kinds that the grid allows; most grids have none."""
    subject = Subject(analysis)
    fitting = {name: kind for name, kind in KINDS.items() if kind.panel is None and kind.fits(subject)}
    return {name: _drawing(kind, subject) for name, kind in fitting.items()}


def drawings(analysis: Analysis) -> dict[str, Drawing]:
    """Name -> figure, of all that a report has; the main one has no name."""
    return {"": main_figure(analysis)[1], **figures_beside(analysis)}


def _drawing(kind: Kind, subject: Subject) -> Drawing:
    diagram = subject.diagram
    x, y = diagram.layout.x, diagram.layout.y
    words = kind.words.format(value=diagram.quantity.label, x=x, y=y)
    return Drawing(words[:1].upper() + words[1:], partial(kind.draw, subject))


def draw_into(ax: Axes, analysis: Analysis, panel: int = 0) -> None:
    """Draw one panel of the main figure on axes of one's own, with the labels of its axes and no title."""
    name = main_kind(analysis)
    draw = KINDS[name].panel
    assert draw is not None, "a main figure has panels"
    draw(ax, analysis, panel)
    across, up = names_of_axes(name, analysis.diagram)
    ax.set_xlabel(across)
    ax.set_ylabel(up)
