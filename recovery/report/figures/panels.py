"""The one way in which the panels of a diagram, or of several values side by side, become a figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, Scale
from recovery.report.figures.sheet import NamedGrid, Share, Sheet, sheet
from recovery.report.figures.style import plain, script_of, style_of


@dataclass(frozen=True)
class Drawn:
    """What a panel adds to its figure: legend entries, of lines by the number of their value; the mesh and the scale of
    a colour bar; and a text above the panel at the right."""

    handles: Sequence[Any] = ()
    lines: Sequence[tuple[int, Any]] = ()
    mesh: ScalarMappable | None = None
    scale: Scale | None = None
    text: str = ""


Draw = Callable[[Axes, int], Drawn]


@dataclass(frozen=True)
class Panels:
    """How a kind of figure draws panels. prepare: given an analysis, and whether the whole axes are shown, returns the
    function that draws panel i on given axes. labels: of the x and y axes. title: follows the heading. shared_rows: in
    a named grid, panels share x within a row only."""

    prepare: Callable[[Analysis, bool], Draw]
    labels: Callable[[Diagram], tuple[str, str]]
    share: Share = "both"
    aspect: float = 0.74
    title: str = ""
    shared_rows: bool = False

    def draw(self, analysis: Analysis) -> Figure:
        """Draw the panels of an analysis."""
        return draw_panels([(analysis, self)])


def draw_panels(columns: Sequence[tuple[Analysis, Panels]]) -> Figure:
    """Draw the panels of one diagram as its config arranges them, or several values: one column each, a row per panel.

    The panels of a value have one colour bar if they have one scale, otherwise a bar each.
    """
    analysis, kind = columns[0]
    diagram, script, several = analysis.diagram, script_of(analysis.diagram), len(columns) > 1
    shown = list(range(len(diagram.panels))) if several else diagram.drawn
    places = [(i, k) for i in shown for k in range(len(columns))]
    panels = [diagram.panels[i] for i in shown]
    names = [script.where(panel.where) for panel in panels]
    grid, share = NamedGrid.of(diagram.layout, panels, script), kind.share
    if several:
        labels = [plain(one.diagram.quantity.label) for one, _ in columns]
        grid = NamedGrid(names, len(columns), places, [labels[k] if i == 0 else "" for i, k in places])
        share = "both" if all(one.share == "both" for _, one in columns) else "columns"
    elif kind.shared_rows and diagram.layout.columns is not None:
        share = "rows"
    with sheet(
        len(places), diagram.heading + kind.title, style_of(diagram), kind.aspect, share=share, grid=grid
    ) as page:
        draw = [of.prepare(one, several) for one, of in columns]
        drawn = [draw[k](ax, i) for ax, (i, k) in zip(page.axes, places, strict=True)]
        axes = [of.labels(one.diagram) for one, of in columns]
        for at, (_, k) in enumerate(places):
            page.name(at, names[at // len(columns)], drawn[at].text)
            across, up = axes[k]
            first = page.outer(at, "left") or len({up for _, up in axes}) > 1
            page.label_one(at, across if page.outer(at, "bottom") else "", up if first else "")
        page.add(handle for _, handle in sorted((one for part in drawn for one in part.lines), key=lambda one: one[0]))
        page.add(handle for part in drawn for handle in part.handles)
        for k in range(len(columns)):
            _add_bars(page, dict(list(enumerate(drawn))[k :: len(columns)]), k if several else None)
    return page.figure


def _add_bars(page: Sheet, drawn: dict[int, Drawn], column: int | None) -> None:
    """Add the colour bar of the panels of a value, or one to each of them."""
    bars = [(at, one.mesh, one.scale) for at, one in drawn.items() if one.mesh is not None and one.scale is not None]
    common = all(scale == bars[0][2] for _, _, scale in bars)
    for at, mesh, scale in bars[:1] if common else bars:
        page.bar(mesh, scale.label, scale.extend, column=column if common else None, panel=None if common else at)
