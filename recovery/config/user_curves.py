"""Curves from files and functions, which a sweep stores as points, and checks that curves can be drawn."""

import csv
import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from recovery.config.components import Context
from recovery.config.header import (
    AtCurve,
    ExpressionCurve,
    FileCurve,
    FunctionCurve,
    NamedCurve,
    PointsCurve,
    ReportSpec,
    theory_curves,
)
from recovery.config.tree import Fault, Invalid, as_shown
from recovery.config.trials import SweepCells
from recovery.config.values import log_spaced
from recovery.errors import ParameterError
from recovery.expressions import parse
from recovery.text import did_you_mean, printable
from recovery.user import is_user_name, resolve

POINTS = 200
"""Points that a function is evaluated at: enough for a smooth line."""
MOST = 10_000
"""Most points of a curve."""


def kept_curves(report: ReportSpec, cells: SweepCells, context: Context) -> tuple[list[Any], list[Fault]]:
    """Return the curves with files and functions replaced by points, and the faults of the curves.

    A report then runs no code and needs no file.
    """
    kept, faults = list[Any](), list[Fault]()
    for i, curve in enumerate(report.curves):
        try:
            if isinstance(curve, FileCurve):
                kept.append(_of_file(curve, cells, context))
            elif isinstance(curve, FunctionCurve) or (isinstance(curve, str) and is_user_name(curve)):
                function = FunctionCurve(curve) if isinstance(curve, str) else curve
                kept.append(_of_function(function.function, function.label, report, cells))
            else:
                kept.append(curve)
                _check(NamedCurve(curve) if isinstance(curve, str) else curve, report, cells)
        except (Invalid, ParameterError) as error:
            faults.append(Fault(("report", "curves", i), str(error)))
    return kept, faults


def _check(curve: Any, report: ReportSpec, cells: SweepCells) -> None:
    """Raise `ParameterError` for a curve that this report cannot draw."""
    plane = _plane(report)
    if isinstance(curve, AtCurve):
        (name,) = curve.at
        if name not in plane:
            text = f"at: {name} is no axis of the diagram; allowed: {' and '.join(sorted(plane))}"
            raise ParameterError(text + did_you_mean(name, sorted(plane)))
    if isinstance(curve, ExpressionCurve):
        names = parse(curve.expression, cells.coordinates).names
        several = [name for name in names if name not in plane and len(cells.coordinates[name].distinct) > 1]
        if several:
            text = f"{curve.expression!r} uses {several[0]}, which takes several values"
            raise ParameterError(f"{text}; a curve is of {' and '.join(plane)}, the axes of the diagram")
        if plane.isdisjoint(names):
            raise ParameterError(f"{curve.expression!r} names neither {' nor '.join(sorted(plane))}")
    if isinstance(curve, NamedCurve) and not is_user_name(curve.name):
        known = theory_curves().get(curve.name)
        if known is None or report.x is None:
            return
        if report.x not in known.axes and not set(known.axes) <= plane:
            over = " and ".join(known.axes)
            raise ParameterError(
                f"{curve.name} is a curve over {over}; this report is over {' and '.join(sorted(plane))}, where it "
                "cannot be drawn; a curve of your own is {expression: ...}, {file: ...} or module:NAME"
            )
        if known.level is None and curve.level is None and plane == set(known.axes):
            raise ParameterError(
                f"{curve.name} gives a number ({known.label}), of which a map needs a level: "
                f"{{name: {curve.name}, level: 0.1}}"
            )


def _plane(report: ReportSpec) -> set[str]:
    """Return the two coordinates of the diagram."""
    return {report.x or "n", report.y or "d"}


def _of_file(curve: FileCurve, cells: SweepCells, context: Context) -> PointsCurve:
    """Return the curve through the points of a CSV file."""
    path = context.locate(curve.file)
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123  (csv asks for newline="")
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ParameterError(f"cannot read {curve.file!r}: {getattr(error, 'strerror', None) or error}") from error
    coordinates = list(cells.coordinates)
    head = [name.strip() for name in rows[0]] if rows else []
    named = [(k, name) for k, name in enumerate(head) if name in coordinates]
    if len(named) != 2:
        known = [name for name in head if name not in coordinates]
        hint = did_you_mean(known[0], coordinates) if known else ""
        raise ParameterError(
            f"the first line of {curve.file} is {as_shown(','.join(head))}; it names two coordinates, as n,d, of "
            f"{', '.join(coordinates)}{hint}"
        )
    points = []
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        try:
            point = tuple(float(row[k]) for k, _ in named)
        except (ValueError, IndexError):
            raise ParameterError(
                f"{curve.file}:{number}: found {as_shown(','.join(row))}; allowed: two numbers"
            ) from None
        points.append(point)
    return _points(points, named[0][1], named[1][1], curve.label or curve.file)


def _of_function(name: str, label: str, report: ReportSpec, cells: SweepCells) -> PointsCurve:
    """Return the curve of a user's function of one coordinate of the plane that returns the other."""
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
    taken = cells.coordinates[x].distinct if x in cells.coordinates else []
    values = sorted({value for value in taken if isinstance(value, int | float)})
    if not values:
        raise ParameterError(f"{name}: {x} takes no numbers here")
    points = []
    for at in _mesh(values):
        try:
            points.append((at, float(target(at))))
        except (Exception, SystemExit) as error:  # raised by the user's function
            text = printable(str(error))
            raise ParameterError(f"{name}({at:.6g}) raises {type(error).__name__}: {text:.200}") from error
    return _points(points, x, y, label or name.partition(":")[2].replace("_", " "))


def _mesh(values: Sequence[float]) -> list[float]:
    """Return POINTS positions from half a step below to half a step above ordered values; by ratio if log spaced."""
    if values[0] > 0 and log_spaced(np.array(values, dtype=float)):
        low, high = values[0] * (values[0] / values[1]) ** 0.5, values[-1] * (values[-1] / values[-2]) ** 0.5
        return [low * (high / low) ** (k / (POINTS - 1)) for k in range(POINTS)]
    step = (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else 0.0
    low, high = values[0] - step / 2, values[-1] + step / 2
    low = low if low > 0 or values[0] <= 0 else values[0] / 2
    return [low + (high - low) * k / (POINTS - 1) for k in range(POINTS)]


def _points(points: Sequence[tuple[float, ...]], x: str, y: str, label: str) -> PointsCurve:
    """Return a curve through the finite points. Raises `ParameterError` for too few or too many."""
    finite = tuple((point[0], point[1]) for point in points if all(map(math.isfinite, point)))
    if not 2 <= len(finite) <= MOST:
        raise ParameterError(f"{label} has {len(finite)} points; a curve has 2 to {MOST}, of finite numbers")
    return PointsCurve(finite, x, y, label)
