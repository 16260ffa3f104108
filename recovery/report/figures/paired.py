"""Two yes-or-no outcomes of the same trials, cell by cell, with McNemar's exact test.

Where one recovers and the other does not, the draw is the same: only the discordant trials speak, and if neither
outcome were likelier, each would fall to either side with probability 1/2.
"""

from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram import Axis, Diagram
from recovery.report.figures.map import draw_cells
from recovery.report.figures.sheet import panel_sheet
from recovery.report.figures.style import MATH
from recovery.report.statistics import Pairs, pair_cells

DIFFERENCES = "PuOr_r"
"""A diverging scale that colour-blind readers can tell apart."""
LEVEL = 0.05
OUTCOMES = ["convex_recovered", "recovered"]
"""Of the convex program and of training."""


def can_pair(diagram: Diagram) -> bool:
    """Whether some trial measured both outcomes."""
    frame = diagram.frame
    return set(OUTCOMES) <= set(frame) and bool(frame[OUTCOMES].notna().all(axis=1).any())


def draw_paired(diagram: Diagram) -> Figure:
    """A panel a combination of the axes: orange where only the program recovers, purple where only training does.

    A dot marks a cell whose own exact test is below 5 %; titles have the discordant pairs of the panel and their test.
    """
    cells = diagram.cells
    table = pair_cells(diagram.frame, cells.code, len(cells.keys), *OUTCOMES)
    marked = False
    with panel_sheet(diagram, diagram.panels, aspect=0.8) as page:
        for i, (panel, ax) in enumerate(zip(diagram.panels, page.axes, strict=True)):
            part = table.loc[panel.cells.index]
            mesh = draw_cells(ax, panel, panel.matrix(part["difference"]), Normalize(-1, 1), DIFFERENCES)
            at = panel.cells[(part["p_value"] < LEVEL).to_numpy()]
            marked = marked or len(at) > 0
            ax.plot(Axis(panel.x).at[at["ix"]], Axis(panel.y).at[at["iy"]], "o", color="black", markersize=1.6)
            whole = Pairs(*(int(part[name].sum()) for name in ("both", "only_first", "only_second", "neither")))
            counts = f"convex {whole.only_first}, training {whole.only_second}, p = {whole.p_value:.2g}"
            page.name(i, MATH.where(panel.where), counts)
        page.label(MATH.axis(diagram.layout.x), MATH.axis(diagram.layout.y))
        page.bar(mesh, "fraction recovered: convex less training")
        page.add([Line2D([], [], linestyle="none", label="in titles: trials that one alone recovers")])
        if marked:
            page.add([Line2D([], [], color="black", linestyle="none", marker="o", ms=3, label="exact test below 5 %")])
    return page.figure
