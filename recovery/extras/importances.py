"""Importances of the columns of a table, and where the cut between them lies."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from recovery.config import StyleSpec
from recovery.extras.study import SelectorChoice
from recovery.report.figures.sheet import sheet
from recovery.report.figures.style import LINES, Style

MOST_BARS = 30
LONGEST = 28
"""Characters of a column's name."""


def draw_importances(names: Sequence[str], choice: SelectorChoice, target: str) -> Figure:
    """A bar a column, the largest first, filled if chosen; a dot says in which share of the splits it was chosen."""
    order = np.argsort(-choice.importances, kind="stable")[:MOST_BARS]
    at = np.arange(len(order))
    more = len(names) - len(order)
    title = f"What explains {_short(target)}" + (f" ({more} more columns below)" if more > 0 else "")
    with sheet(1, title, Style(StyleSpec()), aspect=0.12 + 0.05 * len(order)) as page:
        ax = page.axes[0]
        colours = [LINES[0] if choice.chosen[i] else "#c9d3da" for i in order]
        ax.barh(at, choice.importances[order], color=colours, height=0.7)
        ax.plot(choice.frequency[order], at, "o", color=LINES[1], ms=3, label="share of splits in which chosen")
        cut = _cut(choice)
        if cut is not None:
            ax.axvline(cut, color="black", lw=0.8, ls="--", label="cutoff")
        ax.set_yticks(at, [_short(names[i]) for i in order])
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(0, 1.03)
        page.label("importance, relative to the largest", "")
        page.add(ax.get_legend_handles_labels()[0])
    return page.figure


def _cut(choice: SelectorChoice) -> float | None:
    """Half-way between the smallest importance that is chosen and the largest that is not; None if they mix."""
    inside, outside = choice.importances[choice.chosen], choice.importances[~choice.chosen]
    if not (inside.size and outside.size) or inside.min() <= outside.max():
        return None
    return float(inside.min() + outside.max()) / 2


def _short(name: str) -> str:
    name = name.replace("$", r"\$")
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
