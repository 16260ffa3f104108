"""Curves of a report: functions, which a sweep stores as points, and checks that named curves can be drawn."""

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from recovery.config.header import FunctionCurve, NamedCurve, PointsCurve, ReportSpec
from recovery.config.names import theory_curves
from recovery.config.tree import Tree
from recovery.config.trials import Cell
from recovery.config.user_code import user_errors
from recovery.config.values import log_spaced
from recovery.errors import ParameterError
from recovery.user import is_user_name, resolve

POINTS = 200
"""Points that a function is evaluated at: enough for a smooth line."""


def kept_curves(tree: Tree, report: ReportSpec, cells: Sequence[Cell]) -> tuple[Any, ...]:
    """Return the curves with functions replaced by points, so that a report runs no code; errors go to the tree."""
    kept = list[Any]()
    for i, curve in enumerate(report.curves):
        try:
            if isinstance(curve, FunctionCurve):
                curve = _points(curve.function, curve.label, report, cells)
            _check(NamedCurve(curve) if isinstance(curve, str) else curve, report)
            kept.append(curve)
        except ParameterError as error:
            tree.report(("report", "curves", i), str(error))
    return tuple(kept)


def _check(curve: Any, report: ReportSpec) -> None:
    """Raise `ParameterError` for a named curve that this report cannot draw."""
    known = theory_curves().get(curve.name) if isinstance(curve, NamedCurve) else None
    if known is None or report.x is None:
        return
    plane = _plane(report)
    if report.x not in known.axes and not set(known.axes) <= plane:
        raise ParameterError(
            f"{curve.name} is a curve over {' and '.join(known.axes)}; this report is over "
            f"{' and '.join(sorted(plane))}, where it cannot be drawn; a curve of your own is {{function: module:NAME}}"
        )
    if known.level is None and curve.level is None and plane == set(known.axes):
        raise ParameterError(
            f"{curve.name} gives a number ({known.label}), of which a map needs a level: "
            f"{{name: {curve.name}, level: 0.1}}"
        )


def _plane(report: ReportSpec) -> set[str]:
    """Return the two coordinates of the diagram."""
    return {report.x or "n", report.y or "d"}


def _points(name: str, label: str, report: ReportSpec, cells: Sequence[Cell]) -> PointsCurve:
    """Return the curve of the user's function `name`, which takes one coordinate of the plane and returns the other."""
    if not is_user_name(name):
        raise ParameterError(f"function: found {name!r}, which is no module:NAME; write the module and the function")
    target = resolve(name)
    try:
        parameters = list(inspect.signature(target).parameters)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} is no function of a coordinate: {error}") from error
    plane = _plane(report)
    if len(parameters) != 1 or parameters[0] not in plane:
        raise ParameterError(
            f"{name}({', '.join(parameters)}): a curve is a function of one axis of the diagram, "
            f"{' or '.join(sorted(plane))}, and gives the other"
        )
    (x,) = parameters
    (y,) = plane - {x}
    values = sorted({value for cell in cells if isinstance(value := cell.coordinates.get(x), int | float)})
    if not values:
        raise ParameterError(f"{name}: {x} takes no numbers here")
    points = []
    for at in _mesh(values):
        with user_errors(f"{name}({at:.6g}) fails"):
            points.append((at, float(target(at))))
    label = label or name.partition(":")[2].replace("_", " ")
    finite = tuple(point for point in points if all(map(math.isfinite, point)))
    if len(finite) < 2:
        raise ParameterError(f"{label} has {len(finite)} points; a curve has 2 or more, of finite numbers")
    return PointsCurve(finite, x, y, label)


def _mesh(values: Sequence[float]) -> list[float]:
    """Return POINTS positions from half a step below to half a step above ordered values; by ratio if log spaced."""
    if values[0] > 0 and log_spaced(np.array(values, dtype=float)):
        low, high = values[0] * (values[0] / values[1]) ** 0.5, values[-1] * (values[-1] / values[-2]) ** 0.5
        return [low * (high / low) ** (k / (POINTS - 1)) for k in range(POINTS)]
    step = (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else 0.0
    low, high = values[0] - step / 2, values[-1] + step / 2
    low = low if low > 0 or values[0] <= 0 else values[0] / 2
    return [low + (high - low) * k / (POINTS - 1) for k in range(POINTS)]
