"""Panels in a grid of named rows and columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from recovery.report.diagram import Layout, Panel
from recovery.report.figures.style import MATH


@dataclass(frozen=True)
class Strips:
    """The names of a grid's rows and columns, and where each panel stands (row, column)."""

    rows: Sequence[str]
    columns: Sequence[str]
    places: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, layout: Layout, panels: Sequence[Panel]) -> "Strips | None":
        """The grid that a config asks for; None for panels one after another."""
        if layout.columns is None:
            return None
        cut = len(layout.panels) - layout.columns
        down, across = (
            [MATH.where({name: panel.where[name] for name in names}) for panel in panels]
            for names in (layout.panels[:cut], layout.panels[cut:])
        )
        rows, columns = list(dict.fromkeys(down)), list(dict.fromkeys(across))
        places = [(rows.index(row), columns.index(column)) for row, column in zip(down, across, strict=True)]
        return cls(rows, columns, places)
