"""Figures beside the phase diagram, for grids that hold more than one number a trial: one line a kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.figures.figure import axis_label
from recovery.report.figures.paired import can_pair, draw_paired
from recovery.report.figures.profile import draw_profile, is_profile
from recovery.report.figures.ratios import draw_ratios, is_ragged
from recovery.report.figures.trajectories import figures


@dataclass(frozen=True)
class Extra:
    """A figure that can be drawn, and a sentence that stands for it."""

    words: str
    draw: Callable[[], Figure]


def _profile(analysis: Analysis) -> dict[str, Extra]:
    words = f"{analysis.diagram.quantity.label} along {axis_label(analysis.diagram.layout.x)}".capitalize()
    return {"profile": Extra(words, lambda: draw_profile(analysis.diagram))} if is_profile(analysis.diagram) else {}


def _ratios(analysis: Analysis) -> dict[str, Extra]:
    words = f"Fraction {analysis.diagram.quantity.label} against n/d, a colour a size d"
    return {"ratios": Extra(words, lambda: draw_ratios(analysis))} if is_ragged(analysis.diagram) else {}


def _paired(analysis: Analysis) -> dict[str, Extra]:
    words = "Where the convex program alone recovers, and where training alone does, on the same draws"
    return {"paired": Extra(words, lambda: draw_paired(analysis.diagram))} if can_pair(analysis.diagram) else {}


WORDS: Mapping[str, str] = {
    "loss": "Loss and norm of the neurons' sum over the epochs of training",
    "paths": "Paths of the neurons in the plane of the planted direction and one orthogonal to it",
    "pairing": "Neurons at the end of training, and those that are each other's negatives",
    "landscape": "Population loss of two neurons, and the runs' paths across it",
    "network": "Fitted networks of two inputs over their data",
}


def _recorded(analysis: Analysis) -> dict[str, Extra]:
    return {name: Extra(WORDS[name], draw) for name, draw in figures(analysis.diagram).items()}


KINDS: tuple[Callable[[Analysis], dict[str, Extra]], ...] = (_profile, _ratios, _paired, _recorded)


def extra_figures(analysis: Analysis) -> dict[str, Extra]:
    """Name -> figure, of all kinds that the grid allows; most grids have none."""
    return {name: extra for kind in KINDS for name, extra in kind(analysis).items()}
