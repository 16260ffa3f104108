"""Two small charts of the page as SVG: the collapse of all sizes onto one curve, and thresholds against tolerance."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from scipy.stats import norm

from recovery.report.claims import Analysis
from recovery.report.statistics import sensitivity, wilson
from recovery.types import Array

WIDTH, HEIGHT = 460, 270
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 44
THIRDS = ("smaller d", "middle d", "larger d")


@dataclass(frozen=True)
class Frame:
    """Maps data to the drawing; x may be logarithmic already."""

    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Coordinates in the drawing."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return (
            round(LEFT + across * (WIDTH - LEFT - RIGHT), 1),
            round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
        )

    def points(self, x: Array, y: Array) -> str:
        """The points attribute of a polyline or polygon."""
        return " ".join("{},{}".format(*self.at(a, b)) for a, b in zip(x, y, strict=True))

    def box(self, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], x: str, y: str) -> str:
        """Axes with ticks and names."""
        parts = []
        for value, text in x_ticks:
            a, b = self.at(value, self.y[0])
            parts.append(f'<line class="grid" x1="{a}" x2="{a}" y1="{TOP}" y2="{b}"/>')
            parts.append(f'<text x="{a}" y="{b + 16}" text-anchor="middle">{escape(text)}</text>')
        for value, text in y_ticks:
            a, b = self.at(self.x[0], value)
            parts.append(f'<line class="grid" x1="{a}" x2="{WIDTH - RIGHT}" y1="{b}" y2="{b}"/>')
            parts.append(f'<text x="{a - 6}" y="{b + 4}" text-anchor="end">{escape(text)}</text>')
        parts.append(
            f'<rect class="frame" x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" '
            f'height="{HEIGHT - TOP - BOTTOM}"/>'
        )
        middle = (HEIGHT - BOTTOM + TOP) / 2
        parts.append(f'<text x="{(WIDTH + LEFT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x)}</text>')
        parts.append(f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">{escape(y)}</text>')
        return "".join(parts)


def _figure(title: str, alternative: str, drawn: str, names: Sequence[str]) -> str:
    legend = " ".join(
        f'<svg width="12" height="12" class="chart-key"><circle class="s{i % 4}" cx="6" cy="6" r="4"/></svg> '
        f"{escape(name)}"
        for i, name in enumerate(names)
    )
    return (
        f'<figure><h3>{escape(title)}</h3><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(alternative)}">{drawn}</svg><figcaption>{legend}</figcaption></figure>'
    )


def collapse_chart(analysis: Analysis, name: str) -> str:
    """Fractions against t = (n - ratio d) / sqrt n, sizes d in three groups, over the fitted probit; or nothing."""
    frame = Frame((-4.0, 4.0), (0.0, 1.0))
    bins = np.arange(-4.0, 4.01, 0.5)
    usable = [found for found in analysis.pooled if np.isfinite(found.ratio.estimate)]
    if not usable:
        return ""
    yes, total = np.zeros((3, len(bins) - 1)), np.zeros((3, len(bins) - 1))
    for found in usable:
        n, d, won, lost = (found.panel.cells[name].to_numpy(dtype=float) for name in ("n", "d", "yes", "no"))
        t = (n - found.ratio.estimate * d) / np.sqrt(n)
        third = np.searchsorted(np.quantile(np.unique(d), [1 / 3, 2 / 3]), d, side="right")
        place = np.digitize(t, bins) - 1
        inside = (place >= 0) & (place < len(bins) - 1)
        np.add.at(yes, (third[inside], place[inside]), won[inside])
        np.add.at(total, (third[inside], place[inside]), won[inside] + lost[inside])
    ticks = [(float(v), f"{v:g}") for v in range(-4, 5, 2)]
    drawn = [frame.box(ticks, [(v, f"{v:.0%}") for v in (0, 0.5, 1)], "(n - ratio · d) / √n", "fraction")]
    slopes = [found.ratio.slope for found in usable if np.isfinite(found.ratio.slope)]
    if slopes:
        along = np.linspace(-4, 4, 81)
        drawn.append(
            f'<polyline class="law" points="{frame.points(along, norm.cdf(float(np.median(slopes)) * along))}"/>'
        )
    low, high = wilson(yes, total - yes)
    for group in range(3):
        for k in np.flatnonzero(total[group]):
            x = float(bins[k] + 0.25 + (group - 1) * 0.07)
            (a, b), (_, c), (_, e) = (
                frame.at(x, v) for v in (yes[group, k] / total[group, k], low[group, k], high[group, k])
            )
            drawn.append(
                f'<line class="s{group}" x1="{a}" x2="{a}" y1="{c}" y2="{e}"/>'
                f'<circle class="s{group}" cx="{a}" cy="{b}" r="3"/>'
            )
    alternative = (
        "Fractions against the scaled distance to the threshold, for three groups of sizes, over the fitted curve."
    )
    return _figure(f"Collapse of all sizes{name}", alternative, "".join(drawn), THIRDS)


def sensitivity_chart(analysis: Analysis, grid: str) -> str:
    """The threshold n/d of each panel against the tolerance of a deviation or distance; or nothing."""
    diagram = analysis.diagram
    column, series = sensitivity(diagram)
    drawable = [[(tol, t) for tol, t in line if np.isfinite([t.estimate, t.low, t.high]).all()] for line in series]
    if not any(drawable):
        return ""
    typical = float(np.median([t.estimate for line in drawable for _, t in line]))
    drawable = [[(tol, t) for tol, t in line if abs(t.estimate / typical - 1) < 0.5] for line in drawable]
    inside = [t for line in drawable for _, t in line]
    if not inside:
        return ""
    low, high = min(t.low for t in inside), max(t.high for t in inside)
    pad = max((high - low) * 0.08, 0.02)
    frame = Frame((-8.0, 1.0), (low - pad, high + pad))
    ticks = [(float(k), f"1e{k}") for k in range(-8, 2, 2)]
    levels = np.linspace(low, high, 4)
    name = column.replace("_", " ")
    drawn = [frame.box(ticks, [(float(v), f"{v:.2f}") for v in levels], f"tolerance of the {name}", "n/d at 50 %")]
    for i, kept in enumerate(drawable[:4]):
        x = np.log10([tol for tol, _ in kept])
        if not len(x):
            continue
        band = (np.concatenate([x, x[::-1]]), np.array([t.low for _, t in kept] + [t.high for _, t in kept[::-1]]))
        drawn.append(f'<polygon class="s{i} band" points="{frame.points(*band)}"/>')
        drawn.append(f'<polyline class="s{i}" points="{frame.points(x, np.array([t.estimate for _, t in kept]))}"/>')
    names = [panel.title or "n/d" for panel in diagram.panels[:4]]
    return _figure(
        f"Sensitivity to the tolerance{grid}",
        f"Threshold n/d against the tolerance of the {name}.",
        "".join(drawn),
        names,
    )
