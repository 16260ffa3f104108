"""The kinds of main figures of a report: name, text alternative, when a kind fits, and what draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from recovery.errors import ReportError
from recovery.report.claims import Analysis
from recovery.report.diagram import scale_of
from recovery.report.figures.forest import draw_forest, is_forest
from recovery.report.figures.line_plots import COLLAPSE, PROFILE, RATIOS, is_profile, is_ragged
from recovery.report.figures.map import MAP
from recovery.report.figures.panels import Panels, draw_panels
from recovery.report.figures.style import Style, script_of
from recovery.report.figures.training_plots import RECORD_KINDS, records_beside, runs_of


@dataclass(frozen=True)
class Kind:
    """A kind of main figure. `words` is its text alternative, with placeholders {value}, {x} and {y} of the diagram.

    fits: whether the kind suits an analysis. panels: how panels are drawn, also on the caller's axes. draw: if given,
    draws the whole figure without `panels`.
    """

    words: str
    fits: Callable[[Analysis], bool]
    panels: Panels
    draw: Callable[[Analysis], Figure] | None = None


KINDS: dict[str, Kind] = {
    "map": Kind("{value} over {x} and {y}", lambda a: True, MAP),
    "ratios": Kind("Fraction {value} against n/d, one colour per size d", lambda a: is_ragged(a.diagram), RATIOS),
    "collapse": Kind("{value} of all {y}, rescaled to one curve", lambda a: False, MAP, COLLAPSE.draw),
    "profile": Kind("{value} along {x}", lambda a: is_profile(a.diagram), PROFILE),
    "forest": Kind("{value}, one row each, with what is stated", is_forest, MAP, draw_forest),
}
"""Name -> kind. Unless the config names a kind, the main figure of a report is of the last kind here that fits."""

FEW = 4
"""Most grid cells that a table shows better than a figure."""


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn on demand, and its text alternative."""

    words: str
    draw: Callable[[], Figure]


def main_kind(analysis: Analysis, panels: bool = False) -> str:
    """Return the name of the kind of the main figure. panels: choose among kinds that draw one panel at a time.

    Raises `ReportError` if the config asks for `ratios` and the value is not a proportion over n and d.
    """
    requested = analysis.diagram.sweep.report.figure
    if requested == "ratios" and not analysis.diagram.has_ratio:
        raise ReportError(
            "report.figure is 'ratios', which shows a success fraction over n and d; use 'map' or 'profile'"
        )
    names = [name for name, kind in KINDS.items() if not (panels and kind.draw)]
    return requested if requested in names else next(one for one in reversed(names) if KINDS[one].fits(analysis))


def main_figure(analysis: Analysis) -> tuple[str, Drawing]:
    """Return the name of the kind of the main figure, `quantities` for several values side by side, and the figure."""
    diagram, name = analysis.diagram, main_kind(analysis)
    if not diagram.beside or name == "forest":
        kind = KINDS[name]
        words = kind.words.format(value=diagram.quantity.label, x=diagram.layout.x, y=diagram.layout.y)
        return name, Drawing(words[:1].upper() + words[1:], partial(kind.draw or kind.panels.draw, analysis))
    every = [analysis, *map(Analysis, diagram.one_by_one[1:])]
    shown = [(one, KINDS[main_kind(one, panels=True)].panels) for one in every]
    words = ", ".join(one.diagram.quantity.label for one, _ in shown)
    return "quantities", Drawing(f"Side by side: {words}", partial(draw_panels, shown))


def joint_figure(analyses: Sequence[Analysis]) -> Figure:
    """Draw the panels of several results folders as one figure, with one colour scale and one legend.

    Raises `ReportError` if the folders show different values.
    """
    diagrams, kind = [one.diagram for one in analyses], KINDS[main_kind(analyses[0], panels=True)].panels
    if len({value := str(one.quantity) for one in diagrams}) > 1 or any(one.beside for one in diagrams):
        raise ReportError("one figure of several results folders shows one value; name it with --value")
    names = [one.title for one in diagrams]
    if len({*names}) < len(names):
        names = [one.grid.path.resolve().name for one in diagrams]
    scales = [scale_of(one) for one in diagrams]
    if kind is MAP and not diagrams[0].proportion:
        low, high = zip(*(one.limits for one in scales), strict=True)
        same: Any = {"limits": (min(low), max(high)), "scale": "log" if scales[0].logarithmic else "linear"}
        sweeps = [replace(one.sweep, report=replace(one.sweep.report, value=value, **same)) for one in diagrams]
        analyses = [Analysis(replace(one, sweep=sweep)) for one, sweep in zip(diagrams, sweeps, strict=True)]
    return draw_panels([(one, kind) for one in analyses], names)


def figures_beside(analysis: Analysis) -> dict[str, Drawing]:
    """Return name -> figure of training records, for the kinds that the config asks for and the rows have."""
    diagram, spec = analysis.diagram, analysis.diagram.sweep.report
    runs = runs_of(diagram.grid, script_of(diagram))
    rest = (diagram.heading, Style(spec.style), len({run.cell for run in runs}))
    found = {name: (*RECORD_KINDS[name], some) for name, some in records_beside(runs).items() if name in spec.records}
    return {name: Drawing(words, partial(draw, some, *rest)) for name, (words, _, draw, some) in found.items()}


def is_told(analysis: Analysis) -> bool:
    """Return whether a table can replace the figure: the config asks for one, or there are at most `FEW` grid cells."""
    return analysis.diagram.sweep.report.figure == "table" or len(analysis.diagram.table) <= FEW


def drawings(analysis: Analysis, told: bool = False) -> dict[str, Drawing]:
    """Return name -> figure for all figures of a report; the name of the first figure is empty.

    The first is the figure of training records that the config names, if the rows have any; the main figure follows it,
    unless a table suffices (`is_told`). If none, the first is the main figure, omitted if `told` and a table suffices.
    """
    (kind, main), beside = main_figure(analysis), figures_beside(analysis)
    first = beside.pop(analysis.diagram.sweep.report.figure, None)
    if first is None:
        return beside if told and is_told(analysis) else {"": main, **beside}
    return {"": first, **({} if is_told(analysis) else {kind: main}), **beside}


def draw_into(ax: Axes, analysis: Analysis, panel: int = 0, key: bool = True) -> ScalarMappable | None:
    """Draw one panel of the main figure on the caller's axes, with axis labels and without a title.

    Returns the colours, if any, from which a colour bar can be made. key: draw the colour bar and the legend, too.
    """
    panels = KINDS[main_kind(analysis, panels=True)].panels
    drawn = panels.prepare(analysis)(ax, panel)
    across, up = panels.labels(analysis.diagram)
    ax.set(xlabel=across, ylabel=up)
    if key and drawn.bar:
        mesh, label, extend = drawn.bar
        ax.figure.colorbar(mesh, ax=ax, label=label, extend=extend)
    if key and (handles := [*(line for _, line in drawn.lines), *drawn.handles]):
        ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
    return drawn.bar[0] if drawn.bar else None
