"""The layers of one panel as Vega-Lite: grid cells with their marks, theory, thresholds, and lines with intervals.

The tables `cells`, with one row per grid cell, and `lines` are datasets of the chart; others are part of a layer.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from recovery.report.claims import Analysis
from recovery.report.claims.analysis import contour, crossing_label, half_crossings, lone_crossings, lone_label
from recovery.report.claims.mean_tables import printed_numbers
from recovery.report.diagram import PLAIN, Axis, Diagram, Panel, theory_along
from recovery.report.diagram.vocabulary import PRINTED, pooled_words
from recovery.report.figures.line_plots import theory_style
from recovery.report.figures.style import theory_looks
from recovery.report.page.encodings import HALO, INK, KEY, POINT_KEY, SOFT, Json, rounded, stroked

SYMBOLS = {"stroke": "M-0.7,0.7L0.7,-0.7", "cross": "M-0.7,0.7L0.7,-0.7M-0.7,-0.7L0.7,0.7", "diamond": "diamond"}
PATH: Json = {"detail": {"field": "part"}, "order": {"field": "k"}}


def _stored(name: str, *transform: Json) -> Json:
    """Return a layer's source: the chart's dataset `name`, transformed. `json`, because notebooks have it as text."""
    return {"data": {"name": name, "format": {"type": "json"}}, "transform": list(transform)}


def _layer(source: Json | list[Json], mark: str, encoding: Json, **style: Any) -> Json:
    """Return a layer. source: of `_stored`, or a list of rows, which the layer then contains."""
    data = source if isinstance(source, dict) else {"data": {"values": source}}
    return {**data, "mark": {"type": mark, "clip": True, **style}, "encoding": encoding}


def _haloed(source: list[Json], mark: str, encoding: Json, width: float, halo: float, **style: Any) -> list[Json]:
    """Return layers of black marks on wider white ones, visible on every cell in both themes; none without rows."""
    inks = [("white", halo), ("black", width)] if source else []
    return [_layer(source, mark, encoding, stroke=ink, strokeWidth=wide, **style) for ink, wide in inks]


def _at(at: Json, y: str = "y") -> Json:
    return {"x": {"field": "x", **at["x"]}, "y": {"field": y, **at["y"]}}


def _span(at: Json) -> Json:
    return {**_at(at), "x2": {"field": "x2"}, "y2": {"field": "y2"}}


def map_layers(
    shown: Diagram, own: Analysis | None, panel: Panel, i: int, look: Json, theory: list[tuple[str, bool]]
) -> list[Json]:
    """Return the layers of map i. own: the analysis whose thresholds are drawn, if any; look: encodings of x, y, fill
    and tooltip; theory: the label of each theory line of all panels, and whether it brackets another line."""
    cells = _stored("cells", {"filter": f"datum.panel === {i}"})
    result = [_layer(cells, "rect", {**_span(look), "fill": look["fill"], "tooltip": look["tooltip"]}, invalid="show")]
    if theory:
        strokes, path = stroked(theory_looks(theory)), {**_at(look), **PATH}
        # the halo has the dashes of its line, because a solid one would show between the dashes
        dashed, in_panel = {**path, "strokeDash": strokes["strokeDash"]}, {"filter": f"datum.panel === {i}"}
        main = _stored("lines", in_panel, {"filter": "!datum.secondary"})
        result.append(_layer(main, "line", dashed, stroke=HALO, strokeWidth=4))
        result.append(_layer(_stored("lines", in_panel), "line", {**path, **strokes}, strokeWidth=2))
    points, shapes = list[Json](), {mark.words: SYMBOLS[mark.shape] for mark in shown.marks}
    for mark in shown.marks:
        here = panel.cells[mark.cells.loc[panel.cells.index]]
        places = zip(Axis(panel.x).at[here["ix"]].tolist(), Axis(panel.y).at[here["iy"]].tolist(), strict=True)
        points += [{"x": x, "y": y, "mark": mark.words} for x, y in places]
    if own:
        panels = range(len(own.diagram.panels))
        shapes |= {crossing_label(own, k): "circle" for k in panels if half_crossings(own, k)}
        shapes |= {lone_label(own): "diamond" for k in panels if lone_crossings(own, k)}
        joined, bars, crossings = _thresholds(own, i)
        result += _haloed(joined, "line", {**_at(look), **PATH}, 1.6, 3.2) + _haloed(bars, "rule", _span(look), 1.2, 3)
        points += crossings
    scale = {"domain": list(shapes), "range": list(shapes.values())}
    shape = {"shape": {"field": "mark", "type": "nominal", "legend": POINT_KEY, "scale": scale}}
    size = {"expr": f"clamp(pow(width / {len(panel.x)}, 2) / 6, 12, 36)"}
    return result + _haloed(points, "point", {**_at(look), **shape}, 1.2, 4, size=size, filled=False, opacity=1)


def _thresholds(analysis: Analysis, i: int) -> tuple[list[Json], list[Json], list[Json]]:
    """Return the rows of contour, intervals and crossings of panel i; infinite ends become the first or last value."""
    panel, across = analysis.diagram.panels[i], not analysis.diagram.along.transposed
    axes = {"x": Axis(panel.x), "y": Axis(panel.y)}
    along, other = ("x", "y") if across else ("y", "x")
    parts = [line.tolist() for line in contour(analysis, i)]
    joined = [{"x": x, "y": y, "k": k, "part": n} for n, part in enumerate(parts) for k, (x, y) in enumerate(part)]
    bars, points = list[Json](), list[Json]()
    for k, found in half_crossings(analysis, i) if axes[along].kind != "even" else []:
        first, last = (float(axes[along].values[end]) for end in (0, -1))
        low = found.low if np.isfinite(found.low) else min(first, found.high)
        high = found.high if np.isfinite(found.high) else max(last, found.low)
        place = float(axes[other].at[k])
        bars.append({along: low, f"{along}2": high, other: place, f"{other}2": place})
        points.append({along: found.estimate, other: place, "mark": crossing_label(analysis, i)})
    places = axes[other].at.tolist()
    points += [{along: x, other: places[k], "mark": lone_label(analysis)} for k, x in lone_crossings(analysis, i)]
    return joined, bars, points


def line_layers(
    shown: Diagram | None, pooled: Analysis | None, i: int, look: Json, bars: str, joined: bool
) -> list[Json]:
    """Return the layers of measured lines with their intervals. shown: the diagram whose theory is drawn, if any;
    pooled: the analysis whose threshold n/d is drawn, if any; look: the encodings of x, y, color and tooltip; bars: the
    legend text of the intervals; joined: whether neighbouring points are joined."""
    known = [{"filter": f"datum.panel === {i} && isValid(datum.v)"}, {"calculate": json.dumps(bars), "as": "bar"}]
    cells, colours, result = _stored("cells", *known), {"color": look["color"]}, list[Json]()
    point, key = {**_at(look, "v"), **colours}, POINT_KEY | {"symbolType": "M0,-1L0,1"}
    faint = {"field": "bar", "type": "ordinal", "legend": key, "scale": {"type": "ordinal", "range": [0.6]}}
    if pooled and (interval := pooled.band(i)):
        label = PLAIN.marked(pooled_words(pooled.diagram.along, pooled.levels))
        grey = {"field": "label", "type": "nominal", "legend": KEY, "scale": {"range": ["#9a9a9a"]}}
        span = {"x": {"field": "x", **look["x"]}, "x2": {"field": "x2"}, "fill": grey}
        band = {"x": interval.low, "x2": interval.high, "label": label}
        result.append(_layer([band], "rect", span, opacity=0.4))
    if shown and (theory := _theory(shown, shown.panels[i], look["y"]["scale"]["domain"])):
        looks, path = stroked({row["label"]: row.pop("look") for row in theory}), {**_at(look), **PATH}
        own, common = ([row for row in theory if bool(row["series"]) is one] for one in (True, False))
        dashed = {**path, **colours, "strokeDash": looks["strokeDash"]}
        result += [_layer(own, "line", dashed, strokeWidth=1.2)] if own else []
        result.append(_layer(common, "line", {**path, **looks}, strokeWidth=1.4))  # even if empty, for its legend
    ends = {**_at(look, "low"), "y2": {"field": "high"}, **colours, "opacity": faint}
    result.append(_layer(cells, "rule", ends, strokeWidth=1.2))
    result += [_layer(cells, "line", point, strokeWidth=1.2)] if joined else []
    result.append(_layer(cells, "point", {**point, "tooltip": look["tooltip"]}, filled=True, size=34, opacity=1))
    if shown and (printed := _printed(shown, shown.panels[i])):
        cross = {"field": "label", "type": "nominal", "legend": POINT_KEY, "scale": {"range": [SYMBOLS["cross"]]}}
        where = {**_at(look), **colours, "shape": cross}
        result.append(_layer(printed, "point", where, size=50, strokeWidth=1.4, opacity=1))
    return result


def _theory(diagram: Diagram, panel: Panel, reach: Sequence[float]) -> list[Json]:
    """Return rows of points of the theory along x for each y of a panel, with the looks of figures; a ratio is a line
    from end to end of `reach`, the y axis. Theory of one measured line has its `series`, other theory none."""
    rows, part, axis = list[Json](), 0, Axis(panel.x)
    for k, y in enumerate(panel.y):
        present = np.sort(panel.cells.loc[panel.cells["iy"] == k, "ix"].to_numpy())
        if axis.kind == "even" or len(present) < 2:
            continue
        series = diagram.script.pair(diagram.layout.y, y) if diagram.layout.y else ""
        for line in theory_along(diagram, panel, y, axis.at[present], axis.kind == "log"):
            pieces = np.split(line.points, np.flatnonzero(np.isnan(line.points[:, 0])))
            pieces = pieces if len(line.points) > 1 else [np.array([[line.points[0, 0], end] for end in reach])]
            style = theory_style(line)
            about: dict[str, Any] = {"label": line.label, "series": series if line.source in ("rows", "bound") else ""}
            about["look"] = style | {"color": {"black": INK, "0.85": SOFT}.get(style["color"], style["color"])}
            for piece in pieces:
                at = [(rounded(x, 6), rounded(v, 5)) for x, v in piece.tolist() if np.isfinite([x, v]).all()]
                rows += [{"x": x, "y": v, "k": j, **about, "part": part} for j, (x, v) in enumerate(at)]
                part += 1
    return rows


def _printed(diagram: Diagram, panel: Panel) -> list[Json]:
    """Return rows of points: the numbers that a source prints for the shown quantity of a panel."""
    rows = list[Json]()
    for k, y in enumerate(panel.y):
        cells = panel.cells[panel.cells["iy"] == k]
        look = {"series": diagram.script.pair(str(diagram.layout.y), y), "label": PRINTED}
        for numbers in printed_numbers(diagram, panel, y, cells):
            places = zip(Axis(panel.x).at[cells["ix"]].tolist(), numbers, strict=True)
            rows += [{"x": x, "y": value} | look for x, value in places if np.isfinite(value)]
    return rows
