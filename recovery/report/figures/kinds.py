"""The kinds of figures, one line each: what it is called, what it says, when it fits, and what draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, scale_of
from recovery.report.figures.curves import draw_lines, draw_profile, is_profile
from recovery.report.figures.map import draw_map, draw_panel, draw_trials
from recovery.report.figures.names import axis_label
from recovery.report.figures.paired import can_pair, draw_paired
from recovery.report.figures.ratios import draw_fractions, draw_ratios, is_ragged
from recovery.report.figures.style import Style, style_of
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

    panel: for a main figure, draws one of its panels on axes of one's own; others stand beside the main one.
    """

    words: str
    fits: Callable[[Subject], bool]
    draw: Callable[[Subject], Figure]
    panel: Callable[[Axes, Analysis, int], object] | None = None


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
        lambda ax, a, i: draw_panel(ax, a, i, scale_of(a.diagram)),
    ),
    "ratios": Kind(
        "Fraction {value} against n/d, a colour a size d",
        lambda s: is_ragged(s.diagram),
        lambda s: draw_ratios(s.analysis),
        draw_fractions,
    ),
    "profile": Kind(
        "{value} along {x}",
        lambda s: is_profile(s.diagram),
        lambda s: draw_profile(s.diagram),
        lambda ax, a, i: draw_lines(ax, a.diagram, a.diagram.panels[i]),
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
"""Name -> kind. The figure of a report is the last that has a `panel` and fits; all others that fit stand beside it."""


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn, and a sentence that stands for it."""

    words: str
    draw: Callable[[], Figure]


def main_figure(analysis: Analysis) -> tuple[str, Drawing]:
    """The kind and the figure of a report: as the config asks, or a map, or where that says little, lines."""
    subject = Subject(analysis)
    asked = analysis.diagram.sweep.report.figure
    if asked == "ratios" and not poolable(analysis.diagram):
        raise ReportError("report.figure is ratios, which are of a fraction over n and d; take map or profile")
    fitting = (name for name, kind in reversed(KINDS.items()) if kind.panel is not None and kind.fits(subject))
    name = next(fitting) if asked == "auto" else asked
    return name, _drawing(KINDS[name], subject)


def figures_beside(analysis: Analysis) -> dict[str, Drawing]:
    """Name -> figure, of all other kinds that the grid allows; most grids have none."""
    subject = Subject(analysis)
    fitting = {name: kind for name, kind in KINDS.items() if kind.panel is None and kind.fits(subject)}
    return {name: _drawing(kind, subject) for name, kind in fitting.items()}


def _drawing(kind: Kind, subject: Subject) -> Drawing:
    diagram = subject.diagram
    x, y = diagram.layout.x, diagram.layout.y
    words = kind.words.format(value=diagram.quantity.label, x=x, y=y)
    return Drawing(words[:1].upper() + words[1:], partial(kind.draw, subject))


def draw_into(ax: Axes, analysis: Analysis, panel: int = 0) -> None:
    """Draw one panel of the main figure on axes of one's own, with the labels of its axes and no title."""
    diagram = analysis.diagram
    name, _ = main_figure(analysis)
    draw = KINDS[name].panel
    assert draw is not None, "a main figure has panels"
    draw(ax, analysis, panel)
    up = diagram.layout.y if name == "map" else None
    ax.set_xlabel("$n/d$" if name == "ratios" else axis_label(diagram.layout.x))
    ax.set_ylabel(diagram.measured_label if up is None else axis_label(up))
