"""What can be shown of each cell: every measured value and its limits, as columns of short numbers."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from recovery.report.charts.axes import Json, shades
from recovery.report.diagram import Diagram, Quantity, scale_of
from recovery.report.statistics import COLUMNS, FINE, TOLERANCES, wilson
from recovery.types import Array

STOPS = 17
"""Colours between which a scale runs straight."""
COSTS = ("seconds", "gap")
"""What a trial took and how sure it is; of a fine grid too."""
FRACTIONS = {"value": "{}", "low": "lower 95 % limit, {}", "high": "upper 95 % limit, {}"}
NUMBERS = ("median", "mean", "lowest", "highest")


@dataclass
class Gathered:
    """Puts columns into the page's order, panel by panel, and gathers the counts of proportions.

    A proportion is stored as the number of its pair (yes, no), and each pair's fraction and interval once.
    """

    order: Any
    pairs: list[Array] = field(default_factory=list)

    def __call__(self, values: "pd.Series[Any] | Array") -> list[Any]:
        """Integers as they are, other numbers in four digits, NaN as None."""
        array = np.asarray(values)[self.order]
        if array.dtype.kind in "iu":
            return array.tolist()
        return rounded(array)

    def proportion(self, tally: pd.DataFrame) -> int:
        """Keep a proportion's counts; its number in `finish`."""
        self.pairs.append(np.stack([tally["yes"].to_numpy()[self.order], tally["no"].to_numpy()[self.order]]))
        return len(self.pairs) - 1

    def finish(self) -> Json:
        """`of`: for each proportion, each cell's pair; yes, no, value, low, high: of each pair."""
        if not self.pairs:
            return {"of": []}
        counts = np.concatenate(self.pairs, axis=1).astype(np.int64)
        base = int(counts.max()) + 1
        codes, inverse = np.unique(counts[0] * base + counts[1], return_inverse=True)
        yes, no = codes // base, codes % base
        low, high = wilson(yes, no)
        with np.errstate(invalid="ignore"):
            value = yes / (yes + no)
        none = yes + no == 0
        ends = {name: rounded(np.where(none, np.nan, end), 6) for name, end in (("low", low), ("high", high))}
        split = inverse.reshape(len(self.pairs), -1)
        return {"of": split.tolist(), "yes": yes.tolist(), "no": no.tolist(), "value": rounded(value, 6), **ends}


def rounded(array: Array, digits: int = 4) -> list[float | None]:
    """Numbers in few digits; what is no number is None."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.tolist()]


def choices(diagram: Diagram, column: Gathered, every: bool) -> list[Json]:
    """The diagram's own value; with `every` all that the grid measured, and of deviations and distances each tolerance.
    Of a fine grid four values, their medians, and no tolerances."""
    fine, found = len(diagram.table) > FINE, list[Json]()
    measured = diagram.measured if every else [diagram.quantity]
    if fine:
        measured = sorted(measured, key=lambda q: (q != diagram.quantity, q.column not in COSTS))[:4]
    for quantity in measured:
        found.append(_choice(replace(diagram, quantity=quantity), column, fine))
        if every and quantity.at_most is None and quantity.column in COLUMNS and not fine:
            tallies = diagram.cells.tallies(quantity.column, TOLERANCES)
            found += [
                _fraction(Quantity(quantity.column, bound), tally, column, scale_of(diagram).colours)
                for bound, tally in zip(TOLERANCES, tallies, strict=True)
            ]
    return found


def _choice(shown: Diagram, column: Gathered, fine: bool) -> Json:
    """The value of a diagram. `shown`: what of it can be looked at, each with the ways of its colours."""
    tally, scale = shown.table, scale_of(shown)
    quantity = shown.quantity
    if shown.proportion:
        return _fraction(quantity, tally, column, scale.colours)
    names = NUMBERS[:1] if fine else NUMBERS
    looks = []
    for name in names:
        values = tally[name].to_numpy(dtype=float)
        limits = scale.limits if name == "median" else _limits(values, scale.logarithmic)
        ways = ("log", "linear") if scale.logarithmic else ("linear", *(("log",) if limits[0] > 0 else ()))
        title = f"{name} {quantity.label}"
        looks.append(
            {"of": name, "label": title, "ways": {way: colour(title, limits, way, scale.colours) for way in ways}}
        )
    return {
        "key": str(quantity),
        "label": quantity.label,
        "at": None,
        "base": quantity.column,
        "undecided": _if_any(tally["undecided"], column),
        "columns": {name: column(tally[name]) for name in ("count", *names)},
        "looks": looks,
    }


def _fraction(quantity: Quantity, tally: pd.DataFrame, column: Gathered, colours: str) -> Json:
    words = f"fraction {quantity.label}"
    looks = [
        {
            "of": name,
            "label": text.format(words),
            "ways": {"linear": colour(text.format(words), (0, 1), "linear", colours)},
        }
        for name, text in FRACTIONS.items()
    ]
    unsure = "worst" in tally and (tally["worst"] < tally["best"]).any()
    open_ = {name: column(tally[name]) for name in (("worst", "best") if unsure else ())}
    return {
        "key": str(quantity),
        "label": quantity.label,
        "at": None if quantity.at_most is None else f"{quantity.at_most:g}",
        "base": quantity.column,
        "undecided": _if_any(tally["undecided"], column),
        "pair": column.proportion(tally),
        "columns": open_,
        "looks": looks,
    }


def colour(title: str, limits: tuple[float, float], way: str, colours: str) -> Json:
    """A Vega-Lite encoding of numbers as colours, the same ones as in figures."""
    space = np.geomspace if way == "log" else np.linspace
    domain = [float(f"{value:.9g}") for value in space(*limits, STOPS)]
    return {
        "scale": {"type": way, "domain": domain, "range": shades(colours, STOPS), "clamp": True},
        "legend": {"title": title, "orient": "top", "direction": "horizontal", "tickCount": 5},
    }


def _limits(values: Array, log: bool) -> tuple[float, float]:
    kept = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = (float(kept.min()), float(kept.max())) if len(kept) else (0.1, 1.0)
    if low < high:
        return low, high
    return (low / 2, high * 2) if log else (low - 0.5, high + 0.5)


def _if_any(counts: "pd.Series[Any]", column: Gathered) -> list[int] | None:
    return column(counts) if counts.any() else None
