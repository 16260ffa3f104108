"""A diagram as a map: a colour a cell, theory curves and measured thresholds on top.

Of two outcomes of the same trials the map is of their difference, cell by cell, with McNemar's exact test. Where one
recovers and the other does not, the draw is the same: only the discordant trials speak, and if neither outcome were
likelier, each would fall to either side with probability 1/2.
"""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP
from matplotlib.patheffects import Normal, Stroke

from recovery.report.claims import Analysis, caption, contour
from recovery.report.diagram import (
    UNFINISHED,
    Axis,
    Diagram,
    Panel,
    Scale,
    half_words,
    lines,
    scale_of,
    scales_of,
    undecided_words,
    unfinished_words,
)
from recovery.report.figures.sheet import not_measured, panel_sheet
from recovery.report.figures.style import CURVES, DASHES, MATH, STROKES, set_axis
from recovery.report.statistics import Pairs, pair_cells, sizes_in_words
from recovery.types import Array

DIFFERENCES = "PuOr_r"
"""A diverging scale that colour-blind readers can tell apart."""
LEVEL = 0.05
OUTCOMES = ["convex_recovered", "recovered"]
"""Of the convex program and of training."""
LARGE = 10_000
"""From this many cells a panel on, a vector file holds the mesh as a picture."""


def draw_map(analysis: Analysis) -> Figure:
    """The whole diagram with its thresholds, panels on shared axes."""
    diagram = analysis.diagram
    scales = scales_of(diagram)
    own = scales[0] != scale_of(diagram)
    with panel_sheet(diagram, [diagram.panels[i] for i in diagram.drawn]) as page:
        for place, (i, ax) in enumerate(zip(diagram.drawn, page.axes, strict=True)):
            mesh, handles = draw_panel(ax, analysis, i, scales[i])
            page.add(handles)
            words = caption(analysis.pooled[i]) if analysis.pooled else ""
            page.name(place, MATH.where(diagram.panels[i].where), words)
            if own:
                page.bar(mesh, scales[i].label, scales[i].extend, panel=place)
        page.label(MATH.axis(diagram.layout.x), MATH.axis(diagram.layout.y))
        if not own:
            page.bar(mesh, scales[0].label, scales[0].extend)
        page.add(mark_handles(diagram))
    return page.figure


def draw_trials(diagram: Diagram) -> Figure:
    """Where the trials of a sweep went that places them by their outcome: how many each cell has."""
    trials = diagram.table["trials"].to_numpy(dtype=float)
    norm = LogNorm(max(float(trials.min()), 1.0), float(trials.max()))
    with panel_sheet(diagram, diagram.panels, f"{diagram.heading}: where trials were placed") as page:
        for i, (panel, ax) in enumerate(zip(diagram.panels, page.axes, strict=True)):
            mesh = draw_cells(ax, panel, panel.matrix("trials"), norm, "Greys")
            page.add(_overlay(ax, diagram))
            page.name(i, MATH.where(panel.where))
        page.label(MATH.axis(diagram.layout.x), MATH.axis(diagram.layout.y))
        page.bar(mesh, "trials of a cell, log scale")
    return page.figure


def draw_panel(ax: Axes, analysis: Analysis, i: int, scale: Scale) -> tuple[Any, list[Line2D]]:
    """The cells of one panel, marks, theory and thresholds; hands back the mesh and the entries of a key."""
    panel = analysis.diagram.panels[i]
    norm = LogNorm(*scale.limits) if scale.logarithmic else Normalize(*scale.limits)
    mesh = draw_cells(ax, panel, scale.clipped(panel.matrix("value")), norm, scale.colours)
    if panel.undefined:
        not_measured(ax)
    _mark(ax, panel)
    return mesh, _overlay(ax, analysis.diagram) + _thresholds(ax, analysis, i)


def draw_cells(ax: Axes, panel: Panel, values: Array, norm: Any, cmap: str) -> Any:
    """A mesh of the panel's cells on its own axes; white where there is no value."""
    x, y = Axis(panel.x), Axis(panel.y)
    large = values.size > LARGE
    mesh = ax.pcolormesh(x.edges, y.edges, np.ma.masked_invalid(values), cmap=cmap, norm=norm, rasterized=large)
    if not large:
        mesh.set_edgecolor("face")
        mesh.set_linewidth(0.4)
    ax.set_facecolor("white")
    set_axis(ax, "x", x)
    set_axis(ax, "y", y)
    ax.set(xlim=x.edges[[0, -1]], ylim=y.edges[[0, -1]])  # what leaves the grid is cut, not followed
    return mesh


def _mark(ax: Axes, panel: Panel) -> None:
    """A stroke across every cell with failed or missing trials, a cross where none finished, a dot for undecided."""
    cells = panel.cells
    x, y = Axis(panel.x), Axis(panel.y)
    left, right, across = _inner(x, cells["ix"].to_numpy())
    low, high, up_ = _inner(y, cells["iy"].to_numpy())
    unfinished = ((cells["failed"] > 0) | (cells["missing"] > 0)).to_numpy()
    nothing = (cells["ok"] == 0).to_numpy()
    up = np.stack([np.stack([left, low], 1), np.stack([right, high], 1)], 1)
    down = np.stack([np.stack([left, high], 1), np.stack([right, low], 1)], 1)
    for segments in (up[unfinished], down[nothing]):
        strokes = LineCollection(list(segments), colors="black", linewidths=0.7, zorder=3)
        strokes.set_path_effects([Stroke(linewidth=1.6, foreground="white"), Normal()])
        ax.add_collection(strokes, autolim=False)
    dots = (cells["undecided"] > 0).to_numpy()
    ax.plot(across[dots], up_[dots], "D", ms=2.2, mfc="white", mec="black", mew=0.5, scalex=False, scaley=False)


def _inner(axis: Axis, at: Array) -> tuple[Array, Array, Array]:
    """The ends of the middle two thirds of cells, and their middles."""
    edges = np.log(axis.edges) if axis.kind == "log" else axis.edges
    start, end = edges[at], edges[at + 1]
    parts = (start + (end - start) / 6, end - (end - start) / 6, (start + end) / 2)
    return tuple(np.exp(part) for part in parts) if axis.kind == "log" else parts


def mark_handles(diagram: Diagram) -> list[Line2D]:
    """Entries of the key for the marks that cells carry, as far as they occur."""
    totals = diagram.totals
    handles = []
    style: dict[str, Any] = {"color": "black", "linestyle": "none", "markersize": 5}
    if (diagram.table[["failed", "missing"]] > 0).any(axis=None):
        words = unfinished_words(totals["failed"], totals["missing"])
        handles.append(Line2D([], [], marker=[(-1, -1), (1, 1)], label=words, **style))
    if (diagram.table["ok"] == 0).any():
        handles.append(Line2D([], [], marker="x", label=UNFINISHED, **style))
    if totals["undecided"]:
        style |= {"markersize": 2.5, "markerfacecolor": "white"}
        handles.append(Line2D([], [], marker="D", label=undecided_words(totals["undecided"]), **style))
    return handles


def _thresholds(ax: Axes, analysis: Analysis, i: int) -> list[Line2D]:
    """n50 at every d with its interval; none where that is open at both ends."""
    if not analysis.pooled:
        return _crossings(ax, analysis, i)
    there = [(size.d, size.n50) for size in analysis.pooled[i].sizes]
    thresholds = [(d, t) for d, t in there if np.isfinite(t.estimate) and np.isfinite([t.low, t.high]).any()]
    if not thresholds:
        return []
    d, n50 = np.array([d for d, _ in thresholds]), np.array([t.estimate for _, t in thresholds])
    view = (ax.get_xlim(), ax.get_ylim())
    across = analysis.diagram.layout.x == "n"
    ends = np.array([[t.low, t.high] for _, t in thresholds])
    seen = np.clip(ends, *(view[0] if across else view[1]))
    error = np.maximum([n50 - seen[:, 0], seen[:, 1] - n50], 0)
    style: dict[str, Any] = {"marker": "o", "ms": 1.7, "mfc": "white", "mec": "black", "mew": 0.5, "linestyle": "none"}
    bars: dict[str, Any] = {"ecolor": "black", "elinewidth": 0.7, "capsize": 1.2, "capthick": 0.7, "zorder": 5.0}
    if across:
        ax.errorbar(n50, d, xerr=error, **style, **bars)
    else:
        ax.errorbar(d, n50, yerr=error, **style, **bars)
    _draw_open_ends(ax, d, ends, seen, across)
    ax.set(xlim=view[0], ylim=view[1])
    return [Line2D([], [], color="black", **style, label=_half_words(analysis, i))]


def _draw_open_ends(ax: Axes, at: Array, ends: Array, seen: Array, across: bool) -> None:
    """An arrow for each end, shape (k, 2), of an interval that goes on beyond the end of the axis where it is seen."""
    style: dict[str, Any] = {"ms": 3.2, "mfc": "black", "mec": "white", "mew": 0.4, "linestyle": "none", "zorder": 5.1}
    for side, marker in enumerate((CARETLEFT, CARETRIGHT) if across else (CARETDOWN, CARETUP)):
        beyond = ends[:, side] != seen[:, side]
        points = (seen[beyond, side], at[beyond]) if across else (at[beyond], seen[beyond, side])
        ax.plot(*points, marker=marker, scalex=False, scaley=False, **style)


def _half_words(analysis: Analysis, i: int) -> str:
    sizes = sizes_in_words(analysis.diagram.panels[i]) if analysis.pooled else None
    jump = bool(analysis.pooled) and analysis.pooled[i].jump is not None
    return half_words(sizes, jump, analysis.levels)


def _crossings(ax: Axes, analysis: Analysis, i: int) -> list[Line2D]:
    """Where each row crosses one half, with its interval; nothing where that is open at both ends."""
    if not analysis.rows or analysis.diagram.layout.y is None:
        return []
    panel = analysis.diagram.panels[i]
    edges, at = Axis(panel.x).edges, Axis(panel.y).at
    rows = zip(at, [row.half for row in analysis.rows[i]], strict=True)
    there = [(y, half) for y, half in rows if np.isfinite(half.estimate) and np.isfinite([half.low, half.high]).any()]
    if not there:
        return []
    band: dict[str, Any] = {"color": "black", "linewidth": 0.9}
    style: dict[str, Any] = {"marker": "o", "ms": 3.0, "mfc": "white", "mec": "black", "mew": 0.6, "linestyle": "none"}
    ys, ends = np.array([y for y, _ in there]), np.array([[half.low, half.high] for _, half in there])
    seen = np.clip(ends, edges[0], edges[-1])
    bars = ax.hlines(ys, *seen.T, zorder=4.9, **band)
    bars.set_path_effects([Stroke(linewidth=2.4, foreground="white"), Normal()])
    for part in contour(analysis, i):
        (line,) = ax.plot(*part.T, color="black", linewidth=1.3, zorder=4.8, scalex=False, scaley=False)
        line.set_path_effects([Stroke(linewidth=2.6, foreground="white"), Normal()])
    ax.plot([half.estimate for _, half in there], ys, zorder=5.0, scalex=False, scaley=False, **style)
    _draw_open_ends(ax, ys, ends, seen, True)
    key = Line2D([], [], **(style | band | {"linestyle": "-"}), label=_half_words(analysis, i))
    return [key]


def _overlay(ax: Axes, diagram: Diagram) -> list[Line2D]:
    """Theory curves; the handles for the legend, one a label."""
    handles: dict[str, Line2D] = {}
    theory = lines(diagram)
    main = list(dict.fromkeys(line.label for line in theory if not line.secondary))
    factor = float(matplotlib.rcParams["lines.linewidth"]) / 0.9
    for line in theory:
        rank = main.index(line.label) if not line.secondary else 0
        style: dict[str, Any] = {"color": CURVES[rank % 4], "linestyle": DASHES[rank % 4]}
        style["linewidth"] = factor * (0.7 if line.secondary else STROKES[rank % 4])
        if line.secondary:
            style["linestyle"] = (0, (2, 1.2))
        (artist,) = ax.plot(*line.points.T, **style, zorder=4 + rank / 9, scalex=False, scaley=False)
        if not line.secondary:  # seen on the darkest cells too
            artist.set_path_effects([Stroke(linewidth=style["linewidth"] + 0.7, foreground="white"), Normal()])
        handles.setdefault(line.label, Line2D([], [], **style, label=line.label))
    return list(handles.values())


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
