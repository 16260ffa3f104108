"""The one way in which the panels of a diagram, or of several values side by side, become a figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.container import ErrorbarContainer as Bar
from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, Scale, not_drawn
from recovery.report.figures.sheet import Share, sheet
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
    """How a kind of figure draws panels. prepare: given an analysis, returns the function that draws panel i on given
    axes. labels: of the x and y axes. share: whether all panels share x, and y."""

    prepare: Callable[[Analysis], Draw]
    labels: Callable[[Diagram], tuple[str, str]]
    share: tuple[bool, bool] = (True, True)
    aspect: float = 0.74

    def draw(self, analysis: Analysis) -> Figure:
        """Draw the panels of an analysis."""
        return draw_panels([(analysis, self)])


def draw_panels(values: Sequence[tuple[Analysis, Panels]]) -> Figure:
    """Draw the panels of one diagram, or of several values: a column each, and a row for each panel.

    All panels of a value have one scale of colours.
    """
    analysis, kind = values[0]
    diagram, script, count = analysis.diagram, script_of(analysis.diagram), len(values)
    places = [(i, k) for i in range(len(diagram.panels)) for k in range(count)]
    names = [script.where(panel.where) for panel in diagram.panels]
    labels = [plain(one.diagram.quantity.label) if count > 1 else "" for one, _ in values]
    alike = all(of.share == (True, True) for _, of in values)
    share: tuple[Share, Share] = kind.share if count == 1 or alike else ("col", "col")
    columns = count if count > 1 else diagram.columns
    with sheet(len(places), diagram.heading, style_of(diagram), kind.aspect, columns, share) as page:
        draw = [of.prepare(one) for one, of in values]
        drawn = [draw[k](ax, i) for ax, (i, k) in zip(page.axes, places, strict=True)]
        axes = [of.labels(one.diagram) for one, of in values]
        for part, (_, k) in zip(drawn, places, strict=True):
            for bar in [one for one in part.handles if values[k][1].share[0] is False and isinstance(one, Bar)]:
                if count > 1 and labels[k] not in str(bar.get_label()):
                    bar.set_label(f"{bar.get_label()}: {labels[k]}")
        for at, (i, k) in enumerate(places):
            page.name(
                at, ", ".join(filter(None, [labels[k], names[i]])), drawn[at].text if page.style.spec.caption else ""
            )
            across, up = axes[k]
            beside = page.first(at) or len({up for _, up in axes}) > 1
            page.label_one(at, across if page.lowest(at) else "", up if beside else "")
        page.add(handle for _, handle in sorted((one for part in drawn for one in part.lines), key=lambda one: one[0]))
        page.add(handle for part in drawn for handle in part.handles)
        page.remark("not drawn", [*not_drawn(diagram, page.legend)])
        for k, one in enumerate(drawn[:count]):
            if one.mesh is not None and one.scale is not None:
                page.bar(one.mesh, one.scale.label, one.scale.extend, k if count > 1 else None)
    return page.figure
