"""The kinds of figures: what each is called, what it says, when it fits, and what draws it; and those of a report."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.errors import ReportError
from recovery.report.claims import Analysis, caption
from recovery.report.diagram import Diagram, scale_of, scales_of
from recovery.report.figures.curves import draw_fractions, draw_lines, draw_profile, draw_ratios, is_profile, is_ragged
from recovery.report.figures.map import can_pair, draw_map, draw_paired, draw_panel, draw_trials, mark_handles
from recovery.report.figures.sheet import Strips, sheet
from recovery.report.figures.style import MATH, Style, plain, style_of
from recovery.report.figures.trajectories import (
    Run,
    draw_landscape,
    draw_loss,
    draw_networks,
    draw_pairing,
    draw_paths,
    one_output,
    runs_of,
    several_outputs,
    trained,
    two_inputs,
    two_opposite,
)
from recovery.report.statistics import poolable


@dataclass(frozen=True)
class Subject:
    """What figures are drawn of: a grid's analysis, and what its trials recorded."""

    analysis: Analysis

    @property
    def diagram(self) -> Diagram:
        """The diagram of the analysis."""
        return self.analysis.diagram

    @cached_property
    def runs(self) -> list[Run]:
        """The recorded trials; none where nothing was recorded."""
        return runs_of(self.diagram.grid)


@dataclass(frozen=True)
class Kind:
    """A kind of figure. `words` stand for it where it cannot be seen, with {value}, {x} and {y} of the diagram.

    panel: for a main figure, draws one of its panels on axes of one's own, and hands back what a colour bar is of, or
    None, and the entries of a key; other kinds stand beside the main one.
    """

    words: str
    fits: Callable[[Subject], bool]
    draw: Callable[[Subject], Figure]
    panel: Callable[[Axes, Analysis, int], tuple[Any, Sequence[Any]]] | None = None


def recorded(words: str, draw: Callable[[Sequence[Run], str, Style], Figure], of: Callable[[Run], bool]) -> Kind:
    """A kind of figure of the recorded trials that `of` says yes to."""

    def chosen(subject: Subject) -> list[Run]:
        return [run for run in subject.runs if of(run)]

    return Kind(
        words,
        lambda subject: bool(chosen(subject)),
        lambda subject: draw(chosen(subject), subject.diagram.heading, style_of(subject.diagram)),
    )


KINDS: dict[str, Kind] = {
    "map": Kind(
        "{value} over {x} and {y}",
        lambda s: True,
        lambda s: draw_map(s.analysis),
        lambda ax, a, i: draw_panel(ax, a, i, scales_of(a.diagram)[i]),
    ),
    "ratios": Kind(
        "Fraction {value} against n/d, a colour a size d",
        lambda s: is_ragged(s.diagram),
        lambda s: draw_ratios(s.analysis),
        lambda ax, a, i: (None, draw_fractions(ax, a, i)),
    ),
    "profile": Kind(
        "{value} along {x}",
        lambda s: is_profile(s.diagram),
        lambda s: draw_profile(s.diagram),
        lambda ax, a, i: (None, draw_lines(ax, a.diagram, a.diagram.panels[i])),
    ),
    "trials": Kind(
        "Where trials were placed: how many each cell has",
        lambda s: bool(s.diagram.grid.rounds),
        lambda s: draw_trials(s.diagram),
    ),
    "paired": Kind(
        "Where the convex program alone recovers, and where training alone does, on the same draws",
        lambda s: can_pair(s.diagram),
        lambda s: draw_paired(s.diagram),
    ),
    "loss": recorded("Loss and norm of the neurons' sum over the epochs of training", draw_loss, trained),
    "paths": recorded(
        "Paths of the neurons in the plane of the planted direction and one orthogonal to it", draw_paths, one_output
    ),
    "pairing": recorded(
        "Neurons at the end of training, and those that are each other's negatives", draw_pairing, several_outputs
    ),
    "landscape": recorded(
        "Population loss of two neurons, and the runs' paths across it", draw_landscape, two_opposite
    ),
    "network": recorded("Fitted networks of two inputs over their data", draw_networks, two_inputs),
}
"""Name -> kind. The figure of a report is the last that has a `panel` and fits, unless its config
asks for another; all without one that fit stand beside it."""


def draw_quantities(shown: Sequence[tuple[Analysis, str]]) -> Figure:
    """A row of panels for each panel of the diagram, a column for each analysis, drawn as its kind of figure."""
    first, count = shown[0][0].diagram, len(shown)
    places = [(i, k) for i in range(len(first.panels)) for k in range(count)]
    rows = [MATH.where(panel.where) for panel in first.panels]
    strips = Strips(rows, [plain(analysis.diagram.quantity.label) for analysis, _ in shown], places)
    maps = all(name == "map" for _, name in shown)
    with sheet(len(places), first.heading, style_of(first), share="both" if maps else "columns", strips=strips) as page:
        for at, (i, k) in enumerate(places):
            analysis, name = shown[k]
            draw = KINDS[name].panel
            assert draw is not None, "a main figure has panels"
            mesh, key = draw(page.axes[at], analysis, i)
            page.add(key)
            page.name(at, "", caption(analysis.pooled[i]) if analysis.pooled else "")
            across, up = names_of_axes(name, analysis.diagram)
            page.label_one(at, across if page.outer(at, "bottom") else "", up if k == 0 or not maps else "")
            if mesh is not None:
                scale = scales_of(analysis.diagram)[i]
                if scale != scale_of(analysis.diagram):
                    page.bar(mesh, scale.label, scale.extend, panel=at)
                elif i == 0:
                    page.bar(mesh, scale.label, scale.extend, column=k)
        page.add(mark_handles(first) if any(name == "map" for _, name in shown) else [])
    return page.figure


def names_of_axes(kind: str, diagram: Diagram) -> tuple[str, str]:
    """The labels across and up of a main figure's panels."""
    across = MATH.axis("n/d" if kind == "ratios" else diagram.layout.x)
    return across, MATH.axis(diagram.layout.y) if kind == "map" else diagram.measured_label


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
