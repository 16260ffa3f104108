"""The colour scale of a diagram: 0 to 1 for proportions, otherwise the config's limits or the range of the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from recovery.errors import ReportError
from recovery.report.diagram.diagram import Diagram
from recovery.types import Array

DECADES = 1e8
"""Span of a log scale without limits in the config; lower values are numerical noise."""


@dataclass(frozen=True)
class Scale:
    """Limits, whether they are logarithmic, a label, the ends beyond which values lie, and a colour map.

    Bright colours are good: a high frequency or a small distance.
    """

    limits: tuple[float, float]
    logarithmic: bool
    label: str
    extend: Literal["neither", "min", "max", "both"] = "neither"
    colours: str = "cividis"

    def clipped(self, values: Array) -> Array:
        """Return values inside the limits; NaN stays."""
        return np.clip(values, *self.limits)

    def unit(self, values: Array) -> Array:
        """Return values as 0 to 1 along the scale; NaN stays."""
        low, high = self.limits
        inside = self.clipped(values)
        if self.logarithmic:
            return np.log(inside / low) / np.log(high / low)
        return (inside - low) / (high - low)


NARROW = 0.4
"""A panel whose values fill less than this share of a common log scale would have one shade."""


def scales_of(diagram: Diagram) -> list[Scale]:
    """Return the scale of each panel: a common one, or each panel's scale.

    Panels have separate scales if the common one is logarithmic, the config sets no limits, and some panel would have
    one shade.
    """
    common = scale_of(diagram)
    same = [common] * len(diagram.panels)
    if not common.logarithmic or (_is_own(diagram) and diagram.sweep.report.limits):
        return same
    own = [
        _scale(diagram, panel.cells["value"].to_numpy(dtype=float)) if (panel.cells["value"] > 0).any() else common
        for panel in diagram.panels
    ]
    spans = [np.log(scale.limits[1] / scale.limits[0]) for scale in own]
    return own if min(spans) < NARROW * np.log(common.limits[1] / common.limits[0]) else same


def have_one_scale(scales: Sequence[Scale]) -> bool:
    """Return whether one colour bar is true of all panels with these scales."""
    return all(scale == scales[0] for scale in scales)


def scale_of(diagram: Diagram) -> Scale:
    """Return the scale of a diagram, with the config's `report.scale` and `report.limits`."""
    return _scale(diagram, diagram.table["value"].to_numpy(dtype=float))


def _is_own(diagram: Diagram) -> bool:
    """Return whether the config's scale and limits are for the value that is shown."""
    return str(diagram.quantity) == next(iter(diagram.sweep.report.values), str(diagram.quantity))


def _scale(diagram: Diagram, values: Array) -> Scale:
    spec = diagram.sweep.report
    # of errors, distances and costs the small ones are good
    colours = spec.style.colours + ("_r" if diagram.quantity.at_most is None and diagram.quantity.logarithmic else "")
    if diagram.proportion:
        return Scale((0.0, 1.0), False, diagram.measured_label, colours=colours)
    values = values[np.isfinite(values)]
    own = _is_own(diagram)
    positive = values[values > 0]
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
    beyond = (bool((values < low).any()), bool((values > high).any()))
    extend: Any = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
    return Scale((low, high), logarithmic, label, extend, colours)
