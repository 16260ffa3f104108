"""Several quantities of one sweep side by side: a column of panels for each, with its own colour bar or axis."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from recovery.report.claims import Analysis, caption
from recovery.report.diagram import Diagram, scale_of, scales_of
from recovery.report.figures.kinds import KINDS
from recovery.report.figures.map import mark_handles
from recovery.report.figures.sheet import sheet
from recovery.report.figures.strips import Strips
from recovery.report.figures.style import MATH, plain, style_of


def draw_quantities(shown: Sequence[tuple[Analysis, str]]) -> Figure:
    """A row of panels for each panel of the diagram, a column for each analysis, drawn as its kind of figure."""
    first, count = shown[0][0].diagram, len(shown)
    places = [(i, k) for i in range(len(first.panels)) for k in range(count)]
    rows = [MATH.where(panel.where) for panel in first.panels]
    strips = Strips(rows, [plain(analysis.diagram.quantity.label) for analysis, _ in shown], places)
    maps = all(name == "map" for _, name in shown)
    with sheet(len(places), first.heading, style_of(first), share="both" if maps else "columns", strips=strips) as page:
        for at, (i, k) in enumerate(places):
            analysis, name = shown[k]
            draw = KINDS[name].panel
            assert draw is not None, "a main figure has panels"
            mesh, key = draw(page.axes[at], analysis, i)
            page.add(key)
            page.name(at, "", caption(analysis.pooled[i]) if analysis.pooled else "")
            across, up = names_of_axes(name, analysis.diagram)
            page.label_one(at, across if page.outer(at, "bottom") else "", up if k == 0 or not maps else "")
            if mesh is not None:
                scale = scales_of(analysis.diagram)[i]
                if scale != scale_of(analysis.diagram):
                    page.bar(mesh, scale.label, scale.extend, panel=at)
                elif i == 0:
                    page.bar(mesh, scale.label, scale.extend, column=k)
        page.add(mark_handles(first) if any(name == "map" for _, name in shown) else [])
    return page.figure


def names_of_axes(kind: str, diagram: Diagram) -> tuple[str, str]:
    """The labels across and up of a main figure's panels."""
    across = MATH.axis("n/d" if kind == "ratios" else diagram.layout.x)
    return across, MATH.axis(diagram.layout.y) if kind == "map" else diagram.measured_label
