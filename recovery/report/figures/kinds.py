"""The kinds of figures, one line each: what it is called, what it says, when it fits, and what draws it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.diagram import scale_of
from recovery.report.figures.curves import draw_lines, draw_profile, is_profile
from recovery.report.figures.map import draw_map, draw_panel, draw_trials
from recovery.report.figures.names import axis_label
from recovery.report.figures.paired import can_pair, draw_paired
from recovery.report.figures.ratios import draw_fractions, draw_ratios, is_ragged
from recovery.report.figures.trajectories import figures


@dataclass(frozen=True)
class Kind:
    """A kind of figure of a diagram. `words` stand for it where it cannot be seen."""

    words: str
    fits: Callable[[Analysis], bool]
    draw: Callable[[Analysis], Figure]


MAIN: dict[str, Kind] = {
    "profile": Kind("{value} along {x}", lambda a: is_profile(a.diagram), lambda a: draw_profile(a.diagram)),
    "ratios": Kind("Fraction {value} against n/d, a colour a size d", lambda a: is_ragged(a.diagram), draw_ratios),
    "map": Kind("{value} over {x} and {y}", lambda a: True, draw_map),
}
"""The figure of a report is the first that fits."""

BESIDE: dict[str, Kind] = {
    "trials": Kind(
        "Where trials were placed: how many each cell has",
        lambda a: bool(a.diagram.grid.rounds),
        lambda a: draw_trials(a.diagram),
    ),
    "paired": Kind(
        "Where the convex program alone recovers, and where training alone does, on the same draws",
        lambda a: can_pair(a.diagram),
        lambda a: draw_paired(a.diagram),
    ),
}
"""Figures beside it, all that fit."""

RECORDED: Mapping[str, str] = {
    "loss": "Loss and norm of the neurons' sum over the epochs of training",
    "paths": "Paths of the neurons in the plane of the planted direction and one orthogonal to it",
    "pairing": "Neurons at the end of training, and those that are each other's negatives",
    "landscape": "Population loss of two neurons, and the runs' paths across it",
    "network": "Fitted networks of two inputs over their data",
}
"""Figures of what training recorded (`trajectories.FIGURES`), in words."""


@dataclass(frozen=True)
class Drawing:
    """A figure that can be drawn, and a sentence that stands for it."""

    words: str
    draw: Callable[[], Figure]


def main_figure(analysis: Analysis) -> tuple[str, Drawing]:
    """The kind and the figure of a report: a map, or where that would say little, lines."""
    name, kind = next((name, kind) for name, kind in MAIN.items() if kind.fits(analysis))
    layout = analysis.diagram.layout
    words = kind.words.format(value=analysis.diagram.quantity.label, x=layout.x, y=layout.y)
    return name, Drawing(words[:1].upper() + words[1:], partial(kind.draw, analysis))


def draw_into(ax: Axes, analysis: Analysis, panel: int = 0) -> None:
    """Draw one panel of the main figure on axes of one's own, with the labels of its axes and no title."""
    diagram = analysis.diagram
    name, _ = main_figure(analysis)
    if name == "profile":
        draw_lines(ax, diagram, diagram.panels[panel])
    elif name == "ratios":
        draw_fractions(ax, analysis, panel)
    else:
        draw_panel(ax, analysis, panel, scale_of(diagram))
    up = diagram.layout.y if name == "map" else None
    ax.set_xlabel("$n/d$" if name == "ratios" else axis_label(diagram.layout.x))
    ax.set_ylabel(diagram.measured_label if up is None else axis_label(up))


def figures_beside(analysis: Analysis) -> dict[str, Drawing]:
    """Name -> figure, of all other kinds that the grid allows; most grids have none."""
    fitting = {name: kind for name, kind in BESIDE.items() if kind.fits(analysis)}
    drawn = {name: Drawing(kind.words, partial(kind.draw, analysis)) for name, kind in fitting.items()}
    recorded = figures(analysis.diagram)
    return drawn | {name: Drawing(RECORDED[name], draw) for name, draw in recorded.items()}
