"""Figures beside the phase diagram, for grids that hold more than one number a trial: one line a kind."""

from collections.abc import Callable

from matplotlib.figure import Figure

from recovery.report.diagram import Diagram
from recovery.report.paired import can_pair, draw_paired
from recovery.report.trajectories import figures

Drawn = dict[str, Figure]


def _paired(diagram: Diagram) -> Drawn:
    return {"paired": draw_paired(diagram)} if can_pair(diagram) else {}


def _trajectories(diagram: Diagram) -> Drawn:
    return figures(diagram.grid)


EXTRAS: tuple[Callable[[Diagram], Drawn], ...] = (_paired, _trajectories)


def extra_figures(diagram: Diagram) -> Drawn:
    """Name -> figure, of all kinds that the grid allows; most grids have none."""
    return {name: figure for extra in EXTRAS for name, figure in extra(diagram).items()}
