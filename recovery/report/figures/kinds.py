"""The kinds of figures, one line each: what it is called, what it says, when it fits, and what draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, scales_of
from recovery.report.figures.curves import draw_lines, draw_profile, is_profile
from recovery.report.figures.map import draw_map, draw_panel, draw_trials
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
