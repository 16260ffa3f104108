"""Positions of the values of an axis: linear, logarithmic, or evenly spaced; and the colour scale of a diagram."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from recovery.config.values import log_spaced
from recovery.errors import ReportError
from recovery.report.diagram.diagram import Diagram
from recovery.types import Array


@dataclass(frozen=True)
class Axis:
    """The values of a coordinate in order and its name; without a coordinate, [None] and None."""

    values: Sequence[Any]
    name: str | None = None

    @cached_property
    def kind(self) -> Literal["linear", "log", "even"]:
        """The kind of axis: `even` (steps of one) for words, and for log-spaced numbers with some that are not > 0."""
        try:
            numbers = np.array(self.values, dtype=float)
        except (TypeError, ValueError):
            return "even"
        if any(isinstance(value, bool | np.bool_) for value in self.values) or not np.isfinite(numbers).all():
            return "even"
        if not log_spaced(numbers[numbers > 0]):
            return "linear"
        return "log" if (numbers > 0).all() else "even"

    @cached_property
    def at(self) -> Array:
        """The position of each value: the value itself, or 0, 1, 2, ... on an even axis."""
        return np.array(range(len(self.values)) if self.kind == "even" else self.values, dtype=float)

    def scaled(self, values: Any) -> Array:
        """Return numbers in units in which the axis is linear: their logarithms on a log axis."""
        return np.log(values) if self.kind == "log" else np.asarray(values, dtype=float)

    def unscaled(self, values: Array) -> Array:
        """Return the numbers of which `scaled` makes these."""
        return np.exp(values) if self.kind == "log" else values

    @cached_property
    def edges(self) -> Array:
        """Cell borders midway between the values, by ratio on a log axis; one more than there are values."""
        centres = self.scaled(self.at)
        if len(centres) == 1:
            return self.unscaled(centres + max(abs(float(centres[0])) / 2, 0.5) * np.array([-1.0, 1.0]))
        middle = (centres[1:] + centres[:-1]) / 2
        return self.unscaled(np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]]))

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The range of the values, extended by a twentieth on either side; for one value, the borders of its cell."""
        centres = self.scaled(self.at)
        ends = np.array([centres.min(), centres.max()]) + 0.05 * np.ptp(centres) * np.array([-1, 1])
        low, high = self.edges if len(centres) == 1 else self.unscaled(ends)
        return float(low), float(high)


DECADES = 1e8
"""Span of a log scale without limits in the config; lower values are numerical noise."""


@dataclass(frozen=True)
class Scale:
    """A colour scale, on which bright colours mean a high frequency or a small distance.

    extend: the ends of `limits` beyond which values lie. colours: the name of a colour map.
    """

    limits: tuple[float, float]
    logarithmic: bool
    label: str
    extend: Literal["neither", "min", "max", "both"] = "neither"
    colours: str = "cividis"

    def unit(self, values: Array) -> Array:
        """Return values as 0 to 1 along the scale; NaN stays."""
        low, high = self.limits
        inside = np.clip(values, low, high)
        if self.logarithmic:
            return np.log(inside / low) / np.log(high / low)
        return (inside - low) / (high - low)


def scale_of(diagram: Diagram) -> Scale:
    """Return the scale of all panels. `report.scale` and `report.limits` apply only to values of the config."""
    spec = diagram.sweep.report
    # small errors, distances and costs are good: reverse the colours
    colours = spec.style.colours + ("_r" if diagram.quantity.at_most is None and diagram.quantity.logarithmic else "")
    if diagram.proportion:
        return Scale((0.0, 1.0), False, diagram.measured_label, colours=colours)
    values = diagram.table["value"].to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    own = not spec.values or str(diagram.quantity) in spec.values
    positive = values[values >= np.finfo(float).tiny]  # a log scale shows smaller numbers as zeros
    wanted = spec.scale if own else None
    logarithmic = wanted == "log" if wanted else diagram.quantity.logarithmic and len(positive) > 0
    kept = positive if logarithmic else values
    low, high = (float(kept.min()), float(kept.max())) if len(kept) else (0.1 if logarithmic else 0.0, 1.0)
    if logarithmic:
        # zeros have the colour of the lower end, which must differ from those of most positive values
        low = max(low if (values > 0).all() else min(low, high / 10), high / DECADES)
    if own and spec.limits:
        low, high = (float(limit) for limit in spec.limits)
        if logarithmic and low <= 0:
            raise ReportError(f"report.limits starts at {low:g}, which a log scale cannot show; start above 0")
    if high <= low:
        low, high = (low / 2, low * 2) if logarithmic else (low - 0.5, low + 0.5)
    label = diagram.measured_label + (", log scale" if logarithmic else "")
    extend: Any = ("neither", "min", "max", "both")[(values < low).any() + 2 * (values > high).any()]
    return Scale((low, high), logarithmic, label, extend, colours)
