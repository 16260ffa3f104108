"""The one way in which the panels of a diagram, or of several values side by side, become a figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from recovery.report.claims import Analysis
from recovery.report.claims.analysis import patterns_of
from recovery.report.diagram import Axis, Diagram, not_drawn
from recovery.report.figures.bars import draws_of
from recovery.report.figures.sheet import Share, sheet
from recovery.report.figures.style import Style, plain, script_of, text_width
from recovery.text import many

CROWDED = 16
"""Most names below one axis for which a journal's column is wide enough."""


@dataclass(frozen=True)
class Drawn:
    """What a panel adds to its figure. handles: legend entries; lines: (index of y, legend entry); bar: the mesh, label
    and open ends of a colour bar; text: shown above the panel at the right."""

    handles: Sequence[Any] = ()
    lines: Sequence[tuple[int, Any]] = ()
    bar: tuple[ScalarMappable, str, str] | None = None
    text: str = ""


Draw = Callable[[Axes, int], Drawn]


@dataclass(frozen=True)
class Panels:
    """How a kind of figure draws panels. prepare: returns, for an analysis, the function that draws panel i on given
    axes. labels: of the x and y axes. share: whether all panels share x, and y. aspect: height of a panel by width."""

    prepare: Callable[[Analysis], Draw]
    labels: Callable[[Diagram], tuple[str, str]]
    share: tuple[bool, bool] = (True, True)
    aspect: float = 0.74

    def draw(self, analysis: Analysis) -> Figure:
        """Draw the panels of an analysis."""
        return draw_panels([(analysis, self)])


def draw_panels(values: Sequence[tuple[Analysis, Panels]], names: Sequence[str] = ()) -> Figure:
    """Draw the panels of one analysis; or of several, with a column for each, because each shows another value.

    names: if given, of the analyses, which are several results folders whose panels follow one another.
    """
    diagrams, kinds, count = [one.diagram for one, _ in values], [kind for _, kind in values], len(values)
    scripts, columns = [script_of(diagram) for diagram in diagrams], diagrams[0].columns
    places = [(i, k) for k, diagram in enumerate(diagrams) for i in range(len(diagram.panels))]
    share: Share = kinds[0].share
    labels = [plain(name) for name in names] or [""] * count
    if names:
        columns, share = None, (False, share == (False, True))
    elif count > 1:
        places.sort()
        columns, labels = count, [plain(diagram.quantity.label) for diagram in diagrams]
        share = share if all(kind.share == (True, True) for kind in kinds) else ("col", "col")
    heading = diagrams[0].heading if len({diagram.title for diagram in diagrams}) == 1 else ""
    style, texts = Style(diagrams[0].sweep.report.style), [one for a, kind in values for one in kind.labels(a.diagram)]
    texts += [script.where(panel.where) for one, script in zip(diagrams, scripts, strict=True) for panel in one.panels]
    narrow = max(text_width(one, style.rc["axes.labelsize"]) for one in texts) > style.width(1) == style.width(2)
    columns = 1 if narrow and (names or count == 1) else columns
    with sheet(len(places), heading, style, kinds[0].aspect, columns, share) as page:
        crowded = any(len(one.panels[0].x) > CROWDED and Axis(one.panels[0].x).kind == "even" for one in diagrams)
        page.figure.set_figwidth(page.style.width(2 if crowded else page.columns))
        draw = [kind.prepare(one) for one, kind in values]
        drawn = [draw[k](ax, i) for ax, (i, k) in zip(page.axes, places, strict=True)]
        across, up = zip(*(kind.labels(diagram) for kind, diagram in zip(kinds, diagrams, strict=True)), strict=True)
        for at, (i, k) in enumerate(places):
            title = filter(None, [labels[k], scripts[k].where(diagrams[k].panels[i].where)])
            page.name(at, ", ".join(title), drawn[at].text if page.style.spec.caption else "")
        page.label([across[k] for _, k in places], [up[k] for _, k in places])
        page.add(handle for _, handle in sorted((one for part in drawn for one in part.lines), key=lambda one: one[0]))
        page.add(handle for part in drawn for handle in part.handles)
        page.fixed = "; ".join(dict.fromkeys(map(fixed_words, diagrams))) if page.style.spec.caption else ""
        page.remark("not drawn", [*dict.fromkeys(label for one in diagrams for label in not_drawn(one, page.legend))])
        for k in range(1 if names else count):
            bars = [one.bar for one, (_, of) in zip(drawn, places, strict=True) if one.bar and (names or of == k)]
            for bar in bars[:1]:
                page.bar(*bar, column=k if count > 1 and not names else None)
    return page.figure


def fixed_words(diagram: Diagram) -> str:
    """Return those of n, d, noise and pattern set that are equal in all trials, and the number of trials per cell:
    `d = 10, sampled patterns, 20 trials per cell`."""
    one = [name for name in ("n", "d", "noise") if name in diagram.frame and diagram.frame[name].nunique() == 1]
    where = {name: diagram.frame[name].iloc[0] for name in one if name != diagram.layout.x}
    kind = patterns_of(diagram, np.ones(len(diagram.frame), np.bool_))
    if kind and "patterns.kind" not in diagram.sweep.axes:
        where["patterns.kind"] = kind
    words = [script_of(diagram).pair(name, value) for name, value in where.items() if (name, value) != ("noise", 0)]
    draws = draws_of(diagram, diagram.table)
    counts = diagram.table["ok"] if draws is None else np.ravel(draws)
    rest = "finished " if (diagram.table["ok"] < diagram.table["trials"]).any() else ""
    least, most, of = int(min(counts)), int(max(counts)), f"{rest}trial" if draws is None else "draw"
    return ", ".join([*words, f"{f'{least} to ' if least < most else ''}{many(most, of)} per cell"])
