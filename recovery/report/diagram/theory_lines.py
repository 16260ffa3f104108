"""Theory in a diagram: the config's `curves` as lines in the plane of n and d, and theory along the x axis for diagrams
drawn as lines, with one line per y of a panel."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy
from contourpy import contour_generator
from numpy.typing import ArrayLike

from recovery.config.header import Line, NamedCurve, PointsCurve, RatioCurve
from recovery.config.tree import value_at
from recovery.errors import ReportError
from recovery.report.diagram.axis import Axis
from recovery.report.diagram.diagram import Diagram
from recovery.report.diagram.grid_cells import Panel
from recovery.report.diagram.vocabulary import unmarked
from recovery.theory import CURVES, Curve
from recovery.types import Array

RISING = {"wendel": "no_all_ones"}
"""Name of a curve, the probability of an obstacle to recovery -> name of the curve of 1 minus it."""
MESH = 400
"""Points of a line of theory."""
DASH = 3
"""Half length of the dash of a bound at a row, in points of a line of `MESH` points."""
PROBIT_MESH = 280
"""Points along each axis of the mesh on which named curves are contoured. Wendel's 5, 50 and 95 % then are within
0.025 % of the axis of their exact positions, n = 80 to 40 000; without the probit, on `MESH` points, within 0.2 %."""


@dataclass(frozen=True)
class TheoryLine:
    """A polyline in the diagram's coordinates, shape (k, 2): x, y. Secondary lines bracket a main line."""

    label: str
    points: Array
    secondary: bool = False


def lines(diagram: Diagram, i: int) -> list[TheoryLine]:
    """Return the lines of the config's `report.curves` in the plane of panel i; named curves are over n and d."""
    layout, panel = diagram.layout, diagram.panels[i]
    result: list[TheoryLine] = []
    for spec in curves_of(diagram, panel):
        found, first = list[TheoryLine](), layout.x
        if isinstance(spec, PointsCurve) and {spec.x, spec.y} == {layout.x, layout.y}:
            found, first = [TheoryLine(spec.label, np.array(spec.points))], spec.x
        elif isinstance(spec, NamedCurve) and spec.name == diagram.quantity.column:
            level, label = _contour(diagram, spec)
            x, y = Axis(panel.x).at, Axis(panel.y).at
            measured = contour_generator(x, y, np.ma.masked_invalid(panel.matrix("value"))).lines(level)
            found = [TheoryLine(label, np.asarray(part)) for part in measured]
        elif layout.over_n_and_d and isinstance(spec, NamedCurve | RatioCurve):
            n, d = (panel.x, panel.y) if layout.x == "n" else (panel.y, panel.x)
            found, first = _traced(diagram, spec, n, d), "n"
        turned = [replace(line, points=line.points[:, ::-1]) for line in found]
        result += found if first == layout.x else turned
    return result


def curves_of(diagram: Diagram, panel: Panel) -> list[Line]:
    """Return the config's curves that are about this panel; a named curve that is a constant n/d as a `RatioCurve`."""
    return [spec for spec in _specs(diagram) if panel.agrees(getattr(spec, "where", {}))]


def _contour(diagram: Diagram, spec: NamedCurve) -> tuple[float, str]:
    """Return the level at which `spec`, a curve that names the shown column, contours it, and the contour's label."""
    level = 0.5 if spec.level is None else spec.level
    return level, f"{diagram.measured_label} = {level:g}"


def _specs(diagram: Diagram) -> Iterator[Line]:
    for spec in diagram.sweep.report.lines:
        if isinstance(spec, NamedCurve) and (curve := CURVES.get(spec.name)) and curve.ratio:
            yield RatioCurve(spec.level or curve.ratio, _labelled(diagram, curve).label, spec.where)
        else:
            yield spec


def ratio_label(spec: RatioCurve) -> str:
    """Return the label of the line of a ratio n/d, by default `n = 2d`."""
    return spec.label or ("n = d" if spec.ratio == 1 else f"n = {spec.ratio:g}d")


def _mesh(values: Any, size: int) -> Array:
    """Return positions along an axis, even on its scale, from the border of its first cell to that of its last."""
    axis = Axis(sorted(values))
    low, high = axis.edges[[0, -1]]
    return np.geomspace(low, high, size) if axis.kind == "log" else np.linspace(max(low, 1e-9), high, size)


def _traced(diagram: Diagram, spec: NamedCurve | RatioCurve, n: Any, d: Any) -> list[TheoryLine]:
    """Return the lines of a curve in the plane, points (n, d), of an axis n and an axis d with these values."""
    if isinstance(spec, RatioCurve):
        along = _mesh(d, MESH)
        return [TheoryLine(ratio_label(spec), np.stack([spec.ratio * along, along], 1))]
    if spec.name not in CURVES:
        raise ReportError(f"report.curves names {spec.name!r}; there are {', '.join(CURVES)}, or {{ratio: NUMBER}}")
    curve = _labelled(diagram, CURVES[spec.name])
    main = curve.level if spec.level is None else spec.level
    if main is None or curve.axes != ("n", "d"):
        return []
    grid_n, grid_d = _mesh(n, PROBIT_MESH), _mesh(d, PROBIT_MESH)
    with np.errstate(all="ignore"):
        values = np.asarray(curve.function(grid_n[None, :], grid_d[:, None]), dtype=float)
    probability = curve.level is not None and np.nanmin(values) >= 0 and np.nanmax(values) <= 1
    # contours of a probability are traced on its probit, which changes slowly. The transition itself is about n^1/2
    # wide, less than a cell of the mesh on a large grid
    height = _probit if probability else np.asarray
    contours: Any = contour_generator(grid_n, grid_d, np.ma.masked_invalid(height(values)))
    name = f"{curve.contour}: P" if curve.contour else curve.label
    label = f"{name} = {'1/2' if main == 0.5 else f'{main * 100:g} %'}" if probability else curve.label
    label += f" = {main:g}" if curve.level is None else ""
    traced = [TheoryLine(label, points) for points in contours.lines(float(height(main)))]
    if probability and spec.level is None and main == 0.5:
        ends = (points for chance in (0.05, 0.95) for points in contours.lines(_probit(chance)))
        traced += [TheoryLine(f"{name} = 5 % and 95 %", points, True) for points in ends]
    return traced


def _probit(chance: ArrayLike) -> Array:
    """Return z with Phi(z) = chance; finite for 0 and 1, at the limits of floating-point numbers."""
    return np.clip(scipy.special.ndtri(np.asarray(chance, dtype=np.float64)), -38.0, 8.3)


@dataclass(frozen=True)
class Along:
    """A theory line along x: points (x, value), shape (k, 2). A `ratio` has one point, whose value is NaN; `interval`
    has the values 1 inside and 0 outside; a `bound` is a dash per x. rank: the number of the line in its source."""

    label: str
    points: Array
    source: Literal["rows", "bound", "curve", "interval", "ratio"]
    rank: int


def theory_along(diagram: Diagram, panel: Panel, y: Any, x: Array, log: bool) -> list[Along]:
    """Return the theory for one y of a panel: predictions that rows have, and the config's curves, values and ratios.

    Predictions are interpolated smoothly between the rows, bounds are not. x: the rising positions of the cells.
    """
    here = panel.cells.index[panel.cells["iy"] == list(panel.y).index(y)]
    rows = diagram.frame[np.isin(diagram.cells.code, here)]
    along = np.geomspace(x[0], x[-1], MESH) if log else np.linspace(x[0], x[-1], MESH)
    specs = curves_of(diagram, panel)
    theory = [*_own(diagram, rows, along), *_named(diagram, specs, rows, along)]
    return [*theory, *_levels(diagram, specs, along), *_ratios(diagram, panel, rows)]


def named_curves(diagram: Diagram, specs: Sequence[Line]) -> list[Curve]:
    """Return the theory curves that `specs` name; if `recovered` is shown, an obstacle's is 1 minus its probability."""
    names = [spec.name for spec in specs if isinstance(spec, NamedCurve)]
    if diagram.quantity.column == "recovered":
        names = [RISING.get(name, name) for name in names]
    return [_labelled(diagram, CURVES[name]) for name in names if name in CURVES]


def not_drawn(diagram: Diagram, key: Collection[str]) -> Iterator[str]:
    """Yield the labels of the config's curves that are not drawn: with which no entry of the legend `key` begins."""
    for spec in _specs(diagram):
        names = [ratio_label(spec) if isinstance(spec, RatioCurve) else getattr(spec, "label", diagram.measured_label)]
        if isinstance(spec, NamedCurve) and spec.name in CURVES:
            curves = [_labelled(diagram, CURVES[name]) for name in (spec.name, RISING.get(spec.name, spec.name))]
            names = [name for curve in curves for name in (curve.label, curve.contour or curve.label)]
        if not any(entry.startswith(name) for entry in key for name in names):
            yield names[0]


def _labelled(diagram: Diagram, curve: Curve) -> Curve:
    """Return a theory curve with its label from the config."""
    label = diagram.sweep.report.labels.get(curve.name)
    return curve if label is None else replace(curve, label=unmarked(label), contour=unmarked(label))


def _own(diagram: Diagram, rows: pd.DataFrame, along: Array) -> list[Along]:
    if str(diagram.quantity) != "frequency":
        return []
    predictions = []
    for rank, name in enumerate(("predicted", "bound")):
        if name in rows and rows[name].notna().any():
            means = rows.groupby(diagram.layout.x)[name].mean().dropna()
            at, values = means.index.to_numpy(dtype=float), means.to_numpy(dtype=float)
            if name == "bound":  # which may have steps between the rows
                steps = np.arange(len(along))
                ends = [np.interp(np.interp(at, along, steps) + side, steps, along) for side in (-DASH, DASH)]
                at, values = np.column_stack([*ends, np.nan * at]).ravel(), np.repeat(values, 3)
            elif len(at) > 2:
                at, values = along, scipy.interpolate.PchipInterpolator(at, values)(along)
            source: Literal["rows", "bound"] = "bound" if name == "bound" else "rows"
            label = diagram.sweep.report.labels.get(name, name)
            predictions.append(Along(label, np.stack([at, values], 1), source, rank))
    return predictions


def _named(diagram: Diagram, specs: Sequence[Line], rows: pd.DataFrame, along: Array) -> list[Along]:
    predictions = []
    for rank, curve in enumerate(named_curves(diagram, specs)):
        values = _values(curve, diagram, rows, along)
        if values is not None:
            own = diagram.layout.y in curve.axes
            source: Literal["rows", "curve", "interval"] = "interval" if curve.interval else "rows" if own else "curve"
            predictions.append(Along(curve.label, np.stack([along, values], 1), source, rank))
    return predictions


def _levels(diagram: Diagram, specs: Sequence[Line], along: Array) -> list[Along]:
    """Return horizontal lines at the levels of `specs` that name the shown column; a map has contours instead."""
    own = (spec for spec in specs if isinstance(spec, NamedCurve) and spec.name == diagram.quantity.column)
    return [
        Along(label, np.stack([along, np.full_like(along, level)], 1), "curve", rank)
        for rank, (level, label) in enumerate((_contour(diagram, spec) for spec in own), 1)  # dashed, unlike a curve
    ]


def ratios_of(diagram: Diagram, panel: Panel) -> list[Along]:
    """Return the config's ratios n/d that are about this panel, as lines along an axis of n/d."""
    ratios = [spec for spec in _specs(diagram) if isinstance(spec, RatioCurve)]
    labels = list(dict.fromkeys(map(ratio_label, ratios)))
    return [
        Along(ratio_label(spec), np.array([[spec.ratio, np.nan]]), "ratio", labels.index(ratio_label(spec)))
        for spec in ratios
        if panel.agrees(spec.where)
    ]


def _ratios(diagram: Diagram, panel: Panel, rows: pd.DataFrame) -> list[Along]:
    """Return the lines at the x where the rows of a slice reach the config's ratios n/d; none if n and d both vary."""
    x, found = diagram.layout.x, ratios_of(diagram, panel)
    other = {"n": "d", "d": "n"}.get(x)
    if x != "n/d" and (other not in rows or rows[other].nunique() != 1):
        return []
    size = float(rows[other].iloc[0]) if other else 1.0
    return [replace(line, points=size / line.points if x == "d" else size * line.points) for line in found]


def _values(curve: Curve, diagram: Diagram, rows: pd.DataFrame, x: Array) -> Array | None:
    """Return the curve's values at x; None if it is not along x, or another of its axes varies over the rows."""
    along = {"n": x * rows["d"].iloc[0]} if diagram.layout.x == "n/d" else {diagram.layout.x: x}
    if along.keys().isdisjoint(curve.axes) or (curve.axes == ("n", "d") and not diagram.proportion):
        return None
    arguments: list[Any] = []
    for axis in curve.axes:
        if axis in along:
            arguments.append(along[axis])
            continue
        values: Any = rows[axis].unique() if axis in rows else [value_at(diagram.sweep.document, axis)]
        if len(values) != 1 or values[0] is None:
            return None
        arguments.append(float(values[0]))
    with np.errstate(all="ignore"):
        return np.broadcast_to(np.asarray(curve.function(*arguments), dtype=float), x.shape)
