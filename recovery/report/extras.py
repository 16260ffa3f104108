"""Figures beside the phase diagram, for grids that hold more than one number a trial: one line a kind."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from recovery.report.diagram import Diagram
from recovery.report.paired import can_pair, draw_paired
from recovery.report.profile import draw_profile, is_profile
from recovery.report.trajectories import figures


@dataclass(frozen=True)
class Extra:
    """A figure that can be drawn, and a sentence that stands for it."""

    words: str
    draw: Callable[[], Figure]


def _profile(diagram: Diagram) -> dict[str, Extra]:
    words = f"{diagram.quantity.label} along {diagram.layout.x}, measured and in theory".capitalize()
    return {"profile": Extra(words, lambda: draw_profile(diagram))} if is_profile(diagram) else {}


def _paired(diagram: Diagram) -> dict[str, Extra]:
    words = "Where the convex program alone recovers, and where training alone does, on the same draws"
    return {"paired": Extra(words, lambda: draw_paired(diagram))} if can_pair(diagram) else {}


WORDS: Mapping[str, str] = {
    "loss": "Loss and norm of the neurons' sum over the epochs of training",
    "paths": "Paths of the neurons in the plane of the planted direction and one orthogonal to it",
    "pairing": "Neurons at the end of training, and those that are each other's negatives",
    "landscape": "Population loss of two neurons, and the runs' paths across it",
    "network": "Fitted networks of two inputs over their data",
}


def _recorded(diagram: Diagram) -> dict[str, Extra]:
    return {name: Extra(WORDS[name], draw) for name, draw in figures(diagram.grid).items()}


KINDS: tuple[Callable[[Diagram], dict[str, Extra]], ...] = (_profile, _paired, _recorded)


def extra_figures(diagram: Diagram) -> dict[str, Extra]:
    """Name -> figure, of all kinds that the grid allows; most grids have none."""
    return {name: extra for kind in KINDS for name, extra in kind(diagram).items()}
