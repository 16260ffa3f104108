"""The kinds of figures of a report: name, description, when a kind applies, and the function that draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram, scale_of, scales_of
from recovery.report.figures.line_plots import (
    draw_fractions,
    draw_lines,
    draw_profile,
    draw_ratios,
    is_profile,
    is_ragged,
    profile_label,
)
from recovery.report.figures.map import (
    draw_map,
    draw_paired,
    draw_panel,
    draw_trials,
    has_paired_outcomes,
    mark_handles,
)
from recovery.report.figures.sheet import NamedGrid, sheet
from recovery.report.figures.style import plain, script_of, style_of
from recovery.report.figures.training_plots import RECORD_KINDS, runs_of
from recovery.report.statistics import poolable


@dataclass(frozen=True)
class Kind:
    """A kind of figure. `words` is its text alternative, with placeholders {value}, {x} and {y} of the diagram.

    fits: whether the kind suits an analysis. panel: for main figures, draws panel i on given axes, and returns the mesh
    of a colour bar (or None) and the legend entries. Kinds without `panel` are additional figures.
    """

    words: str
    fits: Callable[[Analysis], bool]
    draw: Callable[[Analysis], Figure]
    panel: Callable[[Axes, Analysis, int], tuple[Any, Sequence[Any]]] | None = None


KINDS: dict[str, Kind] = {
    "map": Kind(
        "{value} over {x} and {y}",
        lambda a: True,
        draw_map,
        lambda ax, a, i: draw_panel(ax, a, i, scales_of(a.diagram)[i]),
    ),
    "ratios": Kind(
        "Fraction {value} against n/d, one colour per size d",
        lambda a: is_ragged(a.diagram),
        draw_ratios,
        lambda ax, a, i: (None, draw_fractions(ax, a, i)),
    ),
    "profile": Kind(
        "{value} along {x}",
        lambda a: is_profile(a.diagram),
        lambda a: draw_profile(a.diagram),
        lambda ax, a, i: (None, draw_lines(ax, a.diagram, a.diagram.panels[i])),
    ),
    "trials": Kind(
        "Number of trials in each grid cell", lambda a: bool(a.diagram.grid.rounds), lambda a: draw_trials(a.diagram)
    ),
    "paired": Kind(
        "Grid cells in which only the convex program or only training recovers, on the same draws",
        lambda a: has_paired_outcomes(a.diagram),
        lambda a: draw_paired(a.diagram),
    ),
}
"""Name -> kind. Unless the config names one, the main figure of a report is the last kind here that has `panel` and
fits. Every kind without `panel` that fits is an additional figure."""


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn on demand, and its text alternative."""

    words: str
    draw: Callable[[], Figure]


def main_kind(analysis: Analysis) -> str:
    """Return the name of the kind of the main figure.

    Raises `ReportError` if the config asks for `ratios` and the value is not a proportion over n and d.
    """
    requested = analysis.diagram.sweep.report.figure
    if requested == "ratios" and not poolable(analysis.diagram):
        raise ReportError(
            "report.figure is 'ratios', which shows a success fraction over n and d; use 'map' or 'profile'"
        )
    if requested in KINDS:
        return requested
    return next(name for name, kind in reversed(KINDS.items()) if kind.panel is not None and kind.fits(analysis))


def main_figure(analysis: Analysis) -> tuple[str, Drawing]:
    """Return the kind of the main figure of a report and the figure; several values side by side are `quantities`."""
    diagram, name = analysis.diagram, main_kind(analysis)
    if not diagram.beside:
        return name, _drawing(KINDS[name], analysis)
    others = [Analysis(one) for one in diagram.one_by_one[1:]]
    shown = [(one, main_kind(one)) for one in (analysis, *others)]
    words = ", ".join(one.diagram.quantity.label for one, _ in shown)
    return "quantities", Drawing(f"Side by side: {words}", partial(draw_quantities, shown))


def figures_beside(analysis: Analysis) -> dict[str, Drawing]:
    """Return name -> additional figure: trials per grid cell, paired outcomes, and figures of training records."""
    diagram = analysis.diagram
    fitting = {name: kind for name, kind in KINDS.items() if kind.panel is None and kind.fits(analysis)}
    found = {name: _drawing(kind, analysis) for name, kind in fitting.items()}
    runs = runs_of(diagram.grid)
    for name, (words, shows, draw) in RECORD_KINDS.items():
        if chosen := [run for run in runs if shows(run)]:
            found[name] = Drawing(words, partial(draw, chosen, diagram.heading, style_of(diagram)))
    return found


def drawings(analysis: Analysis) -> dict[str, Drawing]:
    """Return name -> figure for all figures of a report; the name of the first figure is empty.

    It is the main figure, or the figure of training records that the config names, if the rows have such records.
    """
    (kind, main), beside = main_figure(analysis), figures_beside(analysis)
    first = beside.pop(analysis.diagram.sweep.report.figure, None)
    return {"": main, **beside} if first is None else {"": first, kind: main, **beside}


def _drawing(kind: Kind, analysis: Analysis) -> Drawing:
    diagram = analysis.diagram
    words = kind.words.format(value=diagram.quantity.label, x=diagram.layout.x, y=diagram.layout.y)
    return Drawing(words[:1].upper() + words[1:], partial(kind.draw, analysis))


def draw_quantities(shown: Sequence[tuple[Analysis, str]]) -> Figure:
    """Draw several quantities side by side: a row per panel of the diagram, a column per (analysis, kind)."""
    first, count = shown[0][0].diagram, len(shown)
    places = [(i, k) for i in range(len(first.panels)) for k in range(count)]
    rows = [script_of(first).where(panel.where) for panel in first.panels]
    titles = [plain(shown[k][0].diagram.quantity.label) if i == 0 else "" for i, k in places]
    grid = NamedGrid(rows, count, places, titles)
    maps = all(name == "map" for _, name in shown)
    with sheet(len(places), first.heading, style_of(first), share="both" if maps else "columns", grid=grid) as page:
        for at, (i, k) in enumerate(places):
            analysis, name = shown[k]
            mesh, handles = _draw_main_panel(page.axes[at], analysis, name, i)
            page.add(handles)
            page.name(at, "", analysis.caption(i))
            across, up = _axis_labels(name, analysis.diagram)
            page.label_one(at, across if page.outer(at, "bottom") else "", up if k == 0 or not maps else "")
            if mesh is not None:
                scale = scales_of(analysis.diagram)[i]
                if scale != scale_of(analysis.diagram):
                    page.bar(mesh, scale.label, scale.extend, panel=at)
                elif i == 0:
                    page.bar(mesh, scale.label, scale.extend, column=k)
        page.add(mark_handles(first) if any(name == "map" for _, name in shown) else [])
    return page.figure


def draw_into(ax: Axes, analysis: Analysis, panel: int = 0, key: bool = True) -> ScalarMappable | None:
    """Draw one panel of the main figure on the caller's axes, with axis labels and without a title.

    Returns the cells of a map, from which a colour bar can be made. key: draw the colour bar and the key, too.
    """
    name = main_kind(analysis)
    mesh: ScalarMappable | None
    mesh, handles = _draw_main_panel(ax, analysis, name, panel)
    across, up = _axis_labels(name, analysis.diagram)
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    if key and mesh is not None:
        scale = scales_of(analysis.diagram)[panel]
        ax.figure.colorbar(mesh, ax=ax, label=scale.label, extend=scale.extend)
    if key and handles:
        ax.legend(handles=list(handles), loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
    return mesh


def _draw_main_panel(ax: Axes, analysis: Analysis, kind: str, i: int) -> tuple[Any, Sequence[Any]]:
    draw = KINDS[kind].panel
    assert draw is not None, f"{kind} is a main figure"
    return draw(ax, analysis, i)


def _axis_labels(kind: str, diagram: Diagram) -> tuple[str, str]:
    """Return the labels of the x and y axes of a main figure."""
    script = script_of(diagram)
    across = script.axis("n/d" if kind == "ratios" else diagram.layout.x)
    up = {"map": script.axis(diagram.layout.y), "profile": profile_label(diagram)}.get(kind, diagram.measured_label)
    return across, up
