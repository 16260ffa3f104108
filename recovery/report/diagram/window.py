"""The part of a map that shows the transition of a fraction."""

import numpy as np

from recovery.report.diagram.axis import Axis
from recovery.report.diagram.diagram import Diagram

MARGIN = 0.1
"""Cells shown before and after the transition, as a share of the transition; at least one."""
MOST = 0.75
"""A transition that takes more than this share of the axis is shown on the whole axis."""


def transition(diagram: Diagram) -> slice:
    """Return the places along the axis of the threshold at which some slice of some panel changes, with a margin.

    Every slice is constant outside. The slice covers the whole axis for numbers, for words, for the style `view: full`,
    and if little would be left out. A missing cell counts as a change, so that a sweep keeps its axis while it runs.
    """
    along, panels = diagram.along, [diagram.panels[i] for i in diagram.drawn]
    values = panels[0].y if along.transposed else panels[0].x
    whole = slice(0, len(values))
    if diagram.sweep.report.style.view == "full" or not diagram.proportion or Axis(values).kind == "even":
        return whole
    matrices = [panel.matrix("value") for panel in panels]
    slices = np.vstack([matrix.T if along.transposed else matrix for matrix in matrices])
    changes = np.flatnonzero((np.diff(slices, axis=1) != 0).any(axis=0))
    if not len(changes):
        return whole
    first, last = int(changes[0]), int(changes[-1]) + 1
    margin = max(1, round(MARGIN * (last - first)))
    shown = slice(max(first - margin, 0), min(last + 1 + margin, len(values)))
    return shown if shown.stop - shown.start <= MOST * len(values) else whole
