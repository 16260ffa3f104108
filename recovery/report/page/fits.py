"""Charts of how well a threshold n/d describes a grid: collapse of all sizes, and sensitivity to the tolerance."""

from dataclasses import dataclass

import numpy as np

from recovery.report.claims import Analysis
from recovery.report.page.encodings import Json, rounded_to
from recovery.report.statistics import exact_interval, sensitivity

THIRDS = ("smaller d", "middle d", "larger d")
REACH = 4.0
"""Largest scaled distance |t| to the threshold that the collapse shows."""


@dataclass(frozen=True)
class FitChart:
    """A chart, its heading, and its text alternative."""

    title: str
    words: str
    spec: Json


def fits(analysis: Analysis, name: str) -> list[FitChart]:
    """Return the charts of collapse and sensitivity that have data; `name` is appended to their headings."""
    return [chart for chart in (collapse(analysis, name), sensitivity_fit(analysis, name)) if chart]


def collapse(analysis: Analysis, name: str) -> FitChart | None:
    """Return fractions against t = (n - ratio d) / sqrt n for three groups of d, or None without a threshold."""
    bins = np.arange(-REACH, REACH + 0.01, 0.5)
    usable = [one for one in analysis.pooled if one.interval.known and one.along.pool == "n/d"]
    if not usable:
        return None
    yes, total = np.zeros((3, len(bins) - 1)), np.zeros((3, len(bins) - 1))
    for threshold in usable:
        n, d, won, lost = (threshold.panel.cells[name].to_numpy(dtype=float) for name in ("n", "d", "yes", "no"))
        t = (n - threshold.interval.estimate * d) / np.sqrt(n)
        third = np.searchsorted(np.quantile(np.unique(d), [1 / 3, 2 / 3]), d, side="right")
        place = np.digitize(t, bins) - 1
        inside = (place >= 0) & (place < len(bins) - 1)
        np.add.at(yes, (third[inside], place[inside]), won[inside])
        np.add.at(total, (third[inside], place[inside]), won[inside] + lost[inside])
    low, high = exact_interval(yes, total - yes)
    fraction = np.divide(yes, total, where=total > 0, out=np.zeros_like(yes))
    rows = [
        _point(float(bins[k] + 0.25 + (group - 1) * 0.07), THIRDS[group], *(a[group, k] for a in (fraction, low, high)))
        for group in range(3)
        for k in np.flatnonzero(total[group])
    ]
    x = {"field": "t", "type": "quantitative", "scale": {"domain": [-REACH, REACH]}}
    x["axis"] = {"title": "(n - ratio d) / √n", "values": list(range(-4, 5, 2))}
    y = {"field": "fraction", "type": "quantitative", "scale": {"domain": [-0.03, 1.03], "nice": False}}
    y["axis"] = {"title": "fraction", "values": [0, 0.5, 1], "format": "%", "grid": True}
    spec = {"data": {"values": rows}, "layer": _intervals(x, y, list(THIRDS))}
    words = "Fractions against the scaled distance to the threshold, for three groups of sizes."
    return FitChart(f"Collapse of all sizes{name}", words, spec)


def sensitivity_fit(analysis: Analysis, grid: str) -> FitChart | None:
    """Return thresholds n/d of all panels, near their median, against the tolerance of a column; None without any."""
    diagram = analysis.diagram
    column, series = sensitivity(diagram)
    drawable = [[(tol, t) for tol, t in line if np.isfinite([t.estimate, t.low, t.high]).all()] for line in series]
    if not any(drawable):
        return None
    typical = float(np.median([t.estimate for line in drawable for _, t in line]))
    titles = [panel.title or "n/d" for panel in diagram.panels]
    rows = [
        _point(tolerance, title, threshold.estimate, threshold.low, threshold.high)
        for title, line in zip(titles, drawable, strict=True)
        for tolerance, threshold in line
        if abs(threshold.estimate / typical - 1) < 0.5
    ]
    if not rows:
        return None
    name = column.replace("_", " ")
    x = {"field": "t", "type": "quantitative", "scale": {"type": "log", "domain": [1e-8, 10.0], "nice": False}}
    x["axis"] = {"title": f"tolerance of the {name}", "values": [10.0**k for k in range(-8, 2, 2)], "format": ".0e"}
    y = {"field": "fraction", "type": "quantitative", "scale": {"zero": False}}
    y["axis"] = {"title": "n/d at 50 %", "tickCount": 5, "grid": True}
    present = [title for title in titles if any(row["series"] == title for row in rows)]
    spec = {"data": {"values": rows}, "layer": _intervals(x, y, present, joined=True)}
    return FitChart(f"Sensitivity to the tolerance{grid}", f"Threshold n/d against the tolerance of the {name}.", spec)


def _point(t: float, series: str, *numbers: float) -> Json:
    """Return the row of a point; numbers: its value, and the ends of its interval."""
    fraction, low, high = (rounded_to(number, 4) for number in numbers)
    return {"t": t, "fraction": fraction, "low": low, "high": high, "series": series}


def _intervals(x: Json, y: Json, series: list[str], joined: bool = False) -> list[Json]:
    """Return the layers of points with their intervals, one colour per series."""
    legend = {"title": None, "orient": "top", "symbolType": "circle", "$": "key"} if len(series) > 1 else None
    colour = {"field": "series", "type": "nominal", "scale": {"domain": series, "$": "colours"}, "legend": legend}
    ends = {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour}
    lines = [{"mark": {"type": "line", "strokeWidth": 1.5}, "encoding": {"x": x, "y": y, "color": colour}}]
    return [
        {"mark": {"type": "rule", "strokeWidth": 1.2, "opacity": 0.6}, "encoding": ends},
        *(lines if joined else []),
        {
            "mark": {"type": "point", "filled": True, "opacity": 1, "size": 28},
            "encoding": {"x": x, "y": y, "color": colour},
        },
    ]
