"""Phase diagrams as maps: one coloured rectangle per grid cell, with theory curves and measured thresholds on top."""

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import Normal, Stroke

from recovery.report.claims import Analysis
from recovery.report.claims.analysis import contour, crossing_label, half_crossings, lone_crossings, lone_label
from recovery.report.diagram import NOT_MEASURED, Axis, Diagram, Panel, TheoryLine, lines, scale_of
from recovery.report.figures.panels import Draw, Drawn, Panels
from recovery.report.figures.sheet import draw_beyond, entry, write_note
from recovery.report.figures.style import script_of, set_axis, theory_looks
from recovery.store.round_files import added

MOST_AREAS = 10_000
"""Panels with more grid cells than this are embedded in vector files as bitmaps."""
MARKS: dict[str, Any] = {"stroke": [(-1, -1), (1, 1)], "cross": "x", "diamond": "D"}


def _map(analysis: Analysis) -> Draw:
    """Draw cells, marks, theory and thresholds."""
    diagram = analysis.diagram
    scale, theory = scale_of(diagram), [lines(diagram, k) for k in range(len(diagram.panels))]
    norm = (LogNorm if scale.logarithmic else Normalize)(*scale.limits)

    def draw(ax: Axes, i: int) -> Drawn:
        panel = diagram.panels[i]
        x, y = Axis(panel.x, diagram.layout.x), Axis(panel.y, diagram.layout.y)
        values = panel.matrix("value")
        if added(diagram.grid.rounds):  # rounds added values to single slices: measured cells reach to the next ones
            frame = pd.DataFrame(values, y.at, x.at)
            values = frame.interpolate("nearest", axis=0 if diagram.along.transposed else 1).to_numpy()
        # values beyond the scale have the colour of its end; NaN is hatched
        shown, large = np.ma.masked_invalid(np.clip(values, *scale.limits)), values.size > MOST_AREAS
        mesh = ax.pcolormesh(x.edges, y.edges, shown, cmap=scale.colours, norm=norm, rasterized=large)
        if not large:
            mesh.set(edgecolor="face", linewidth=0.4)
        ax.patch.set(facecolor="white", edgecolor="0.8", hatch="////")
        named = set_axis(ax, "y", y, script_of(diagram))  # wide labels of y leave those of x less room
        notes = set_axis(ax, "x", x, script_of(diagram)) + named
        # fix the limits to the grid, because curves that leave the grid must not extend the axes
        ax.set(xlim=x.edges[[0, -1]], ylim=y.edges[[0, -1]])
        write_note(ax, panel.note)
        handles = [*_draw_theory(ax, theory, i), *_draw_thresholds(ax, analysis, i), *_draw_marks(ax, diagram, panel)]
        handles += map(entry, notes)
        if (np.isnan(values) & (panel.matrix("ok") != 0)).any():  # the key has crosses, too
            handles.append(Patch(facecolor="white", edgecolor="0.8", hatch="////", label=NOT_MEASURED))
        bar = (mesh, scale.label, scale.extend)
        return Drawn(handles, bar=bar if np.isfinite(values).any() else None, text=analysis.caption(i))

    return draw


MAP = Panels(_map, lambda shown: (script_of(shown).axis(shown.layout.x), script_of(shown).axis(shown.layout.y)))


def _draw_marks(ax: Axes, diagram: Diagram, panel: Panel) -> list[Line2D]:
    """Draw a stroke on cells with unfinished trials, a cross if none finished, a diamond if some values are unknown."""
    x, y, handles = Axis(panel.x), Axis(panel.y), list[Line2D]()
    box = ax.get_window_extent()
    cell = min(box.width / len(x.values), box.height / len(y.values)) * 72 / ax.figure.dpi
    for mark in diagram.marks:
        at = panel.cells[mark.cells.loc[panel.cells.index]]
        size = min(max(cell * (0.4 if mark.shape == "diamond" else 0.6), 2.0), 5.0)
        style: dict[str, Any] = {"color": "black", "mfc": "white", "mew": 0.7, "ms": size, "linestyle": "none"}
        marker = MARKS[mark.shape]
        handles += ax.plot(x.at[at["ix"]], y.at[at["iy"]], marker=marker, label=mark.words, zorder=3, **style)
        handles[-1].set_path_effects([Stroke(linewidth=1.6, foreground="white"), Normal()])
    return handles


def _draw_thresholds(ax: Axes, analysis: Analysis, i: int) -> list[Any]:
    """Draw the crossings of the slices of panel i with their intervals, or as diamonds; return the legend entries."""
    crossings, panel, along = half_crossings(analysis, i), analysis.diagram.panels[i], analysis.diagram.along
    across = not along.transposed
    view, places = (ax.get_xlim(), ax.get_ylim()), Axis(panel.y if across else panel.x).at
    entries: list[Any] = []
    if alone := lone_crossings(analysis, i):
        points, words = np.array([(x, places[k]) for k, x in alone]).T, lone_label(analysis)
        entries = ax.plot(*(points if across else points[::-1]), "d", mfc="white", mec="black", ms=4.5, label=words)
    if not crossings:
        return entries
    if along.by and len(crossings) + len(alone) < panel.cells[along.by].nunique():
        entries.append(entry(f"no mark: {along.percent} not located inside the grid"))
    at = places[[k for k, _ in crossings]]
    middle, *ends = np.array([[half.estimate, half.low, half.high] for _, half in crossings]).T
    style: dict[str, Any] = {"ms": 3.2, "mfc": "black", "mec": "white", "mew": 0.4, "zorder": 5.1}
    low, high = (draw_beyond(ax, at, end, across, **style) for end in ends)
    x, y = (middle, at) if across else (at, middle)
    style = {"mfc": "white", "mec": "black", "mew": 0.5, "ms": 1.7 if analysis.pooled else 3.0}
    style |= {"ecolor": "black", "elinewidth": 0.8, "linestyle": "none", "zorder": 5.0}
    style |= {"xerr" if across else "yerr": np.maximum([middle - low, high - middle], 0)}
    bars = ax.errorbar(x, y, **style, marker="o")
    contours = [ax.plot(*part.T, color="black", linewidth=1.3, zorder=4.8)[0] for part in contour(analysis, i)]
    for artist in [*bars.get_children(), *contours]:
        artist.set_path_effects([Stroke(linewidth=2.4, foreground="white"), Normal()])
    ax.set(xlim=view[0], ylim=view[1])
    look = {name: style[name] for name in ("mfc", "mec", "mew", "ms")}
    return [entry(crossing_label(analysis, i), marker="o", linestyle="-", lw=0.8, **look), *entries]


def _draw_theory(ax: Axes, theory: list[list[TheoryLine]], i: int) -> list[Artist]:
    """Draw the theory of panel i, with one look per label in all panels; return one legend entry per label."""
    handles = dict[str, Artist]()
    looks = theory_looks([(line.label, line.secondary) for panel in theory for line in panel])
    factor = float(matplotlib.rcParams["lines.linewidth"]) / 0.9
    for k, line in enumerate(theory[i]):
        look = looks[line.label] | {"linewidth": factor * looks[line.label]["linewidth"], "zorder": 4 + k / 99}
        rim = {"color": "white", "linestyle": "-", "linewidth": look["linewidth"] + 0.7}
        ax.plot(*line.points.T, **look | rim, scalex=False, scaley=False)  # dashes show on dark cells, too
        (artist,) = ax.plot(*line.points.T, **look, label=line.label, scalex=False, scaley=False)
        handles.setdefault(line.label, artist)
    return list(handles.values())
