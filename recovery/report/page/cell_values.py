"""The values that a page offers for each grid cell: every measured quantity and its limits, as rounded columns."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from recovery.interval import LEVEL, percent
from recovery.report.diagram import (
    INTERVAL,
    RANGE,
    STANDARD_ERROR,
    AxisKind,
    Diagram,
    Quantity,
    have_one_scale,
    scale_of,
    scales_of,
    undecided_words,
)
from recovery.report.page.encodings import Json, colour, height, rounded_to
from recovery.report.statistics import COLUMNS, TOLERANCES, exact_interval
from recovery.report.statistics.means import means_of, shown_tables
from recovery.types import Array, Index

COSTS = ("seconds", "gap")
"""Quantities that a page offers for fine grids too: run time and duality gap."""
FINE = 20_000
"""Number of cells beyond which a page holds the medians of four quantities only."""
LIMIT = f"{percent(LEVEL)} limit, {{}}"
ENDS = {"value": "{}", "low": f"lower {LIMIT}", "high": f"upper {LIMIT}"}
NUMBERS = ("median", "mean", "lowest", "highest")
QUARTILES, ERRORS, LIMITS = ("lower", "upper"), ("less", "more"), ("low", "high")
BARS = {
    QUARTILES: (RANGE, ("lower quartile", "upper quartile")),
    ERRORS: (STANDARD_ERROR, ("mean - standard error", "mean + standard error")),
    LIMITS: (INTERVAL, tuple(f"{percent(LEVEL)} {end}" for end in LIMITS)),
}
"""For the columns that hold the ends of error bars: their name in the legend, and the headings of the columns."""
MOST_MARKS = 5000
"""Largest number of grid cells that one kind of mark is drawn on."""


@dataclass
class Gathered:
    """A collector that reorders columns by panel, and stores the counts of proportions.

    Each distinct pair (yes, no) is stored once, with its fraction and interval, and grid cells refer to it by index.
    """

    order: Any
    pairs: list[Array] = field(default_factory=list)

    def __call__(self, values: "pd.Series[Any] | Array") -> list[Any]:
        """Return a column in the page's order: integers exactly, other numbers with 4 digits, NaN as None."""
        array = np.asarray(values)[self.order]
        if array.dtype.kind in "iu":
            return array.tolist()
        return rounded(array)

    def proportion(self, tally: pd.DataFrame) -> int:
        """Store the counts of a proportion, and return its index in `finish()["of"]`."""
        self.pairs.append(np.stack([tally["yes"].to_numpy()[self.order], tally["no"].to_numpy()[self.order]]))
        return len(self.pairs) - 1

    def finish(self) -> Json:
        """Return the index of each cell's pair for each proportion (`of`), and the counts and interval of each pair."""
        if not self.pairs:
            return {"of": []}
        counts = np.concatenate(self.pairs, axis=1).astype(np.int64)
        base = int(counts.max()) + 1
        codes, inverse = np.unique(counts[0] * base + counts[1], return_inverse=True)
        yes, no = codes // base, codes % base
        low, high = exact_interval(yes, no)
        with np.errstate(invalid="ignore"):
            value = yes / (yes + no)
        none = yes + no == 0
        ends = {name: rounded(np.where(none, np.nan, end), 6) for name, end in (("low", low), ("high", high))}
        split = inverse.reshape(len(self.pairs), -1)
        return {"of": split.tolist(), "yes": yes.tolist(), "no": no.tolist(), "value": rounded(value, 6), **ends}


def rounded(array: Array, digits: int = 4) -> list[float | None]:
    """Round numbers to significant digits; NaN and infinities become None."""
    return [rounded_to(value, digits) if np.isfinite(value) else None for value in array.tolist()]


def choices(diagram: Diagram, column: Gathered, kind: str, every: bool) -> list[Json]:
    """Return the quantities that a reader can choose, the one that the diagram shows first.

    every: all measured quantities, with several tolerances for deviations and distances; fine grids have at most four
    quantities, and of numbers the median only. Otherwise only the quantity shown. A profile shows means first where a
    claim lists the numbers of a table.
    """
    fine, result = len(diagram.table) > FINE, list[Json]()
    measured = diagram.measured if every else [diagram.quantity]
    if fine:
        measured = sorted(measured, key=lambda q: (q != diagram.quantity, q.column not in COSTS))[:4]
    for quantity in measured:
        shown = replace(diagram, quantity=quantity)
        result.append(_fraction(shown, shown.table, column) if shown.proportion else _number(shown, column, kind, fine))
        if every and quantity.at_most is None and quantity.column in COLUMNS and not fine:
            tallies = diagram.cells.tallies(quantity.column, TOLERANCES)
            events = [replace(diagram, quantity=Quantity(quantity.column, bound)) for bound in TOLERANCES]
            result += [_fraction(event, tally, column) for event, tally in zip(events, tallies, strict=True)]
    return result


def _number(shown: Diagram, column: Gathered, kind: str, fine: bool) -> Json:
    """Return median, mean and range of a numeric quantity with their colour scales; of fine grids, the median only."""
    tally, scale = shown.table, scale_of(shown)
    names, looks, panels = NUMBERS[:1] if fine else NUMBERS, [], scales_of(shown)
    claims = shown_tables(shown) if kind == "profile" and not fine else []
    if claims:
        mean, error = means_of(shown, tally)
        tally = tally.assign(**dict(zip(ERRORS, (mean - error, mean + error), strict=True)))
    kinds: tuple[AxisKind, ...] = ("log", "linear") if scale.logarithmic else ("linear", "log")
    for name in names:
        ends = scale.limits if name == "median" else limits(tally[name].to_numpy(dtype=float), scale.logarithmic)
        title = f"{name} {shown.quantity.label}"
        bars = ERRORS if claims and name == "mean" else QUARTILES
        printed = [number for claim in claims for row in claim.values.values() for number in row]
        reach = np.append(tally[[*bars, name]].to_numpy(dtype=float), printed)
        scales: Json = {
            kind: {
                "colour": colour(title, ends, kind, scale.colours),
                "height": height(title, limits(reach, kind == "log"), kind),
            }
            for kind in kinds
            if kind == "linear" or ends[0] > 0
        }
        if name == "median" and not have_one_scale(panels):
            scales["log"]["panels"] = [colour(title, one.limits, "log", one.colours) for one in panels]
        looks.append({"of": name, "name": name, "label": title, "scales": scales, **_bars(bars)})
    if claims:
        looks.sort(key=lambda look: look["of"] != "mean")
    return _choice(shown, tally, column) | {
        "columns": {
            name: column(tally[name])
            for name in ("count", *names, *(() if fine else QUARTILES), *(ERRORS if claims else ()))
        },
        "looks": looks,
    }


def _fraction(shown: Diagram, tally: pd.DataFrame, column: Gathered) -> Json:
    """Return the fraction of a proportion and the ends of its interval, each with its colour scale."""
    names = {"value": "estimate", "low": "lower limit", "high": "upper limit"}
    colours = scale_of(shown).colours
    looks = [
        {
            "of": of,
            "name": names[of],
            "label": (title := text.format(shown.measured_label)),
            "scales": {
                "linear": {"colour": colour(title, (0, 1), "linear", colours), "height": height(title, None, "linear")}
            },
            **_bars(LIMITS),
        }
        for of, text in ENDS.items()
    ]
    unsure = "worst" in tally and (tally["worst"] < tally["best"]).any()
    return _choice(shown, tally, column) | {
        "pair": column.proportion(tally),
        "columns": {name: column(tally[name]) for name in (("worst", "best") if unsure else ())},
        "looks": looks,
    }


def _bars(ends: tuple[str, str]) -> Json:
    """Return the columns with the ends of error bars, their headings, and the legend text as an expression."""
    words, headings = BARS[ends]
    return {"ends": ends, "headings": headings, "bars": {"calculate": json.dumps(words)}}


def _choice(shown: Diagram, tally: pd.DataFrame, column: Gathered) -> Json:
    """Return the names of a quantity, and the marks on grid cells with undecided trials."""
    quantity, counts = shown.quantity, tally["undecided"]
    cells = np.flatnonzero(counts.to_numpy()[column.order] > 0)
    words = undecided_words(int(counts.sum()))
    return {
        "key": str(quantity),
        "label": quantity.label,
        "at": None if quantity.at_most is None else f"{quantity.at_most:g}",
        "base": quantity.column,
        "undecided": column(counts) if len(cells) else None,
        "marks": [mark(words, "diamond", cells)] if 0 < len(cells) <= MOST_MARKS else [],
    }


def mark(words: str, shape: str, cells: Index) -> Json:
    """Return a mark on grid cells: its legend text, its shape, and the indices of the cells."""
    return {"label": words, "shape": shape, "cells": cells.tolist()}


def limits(values: Array, log: bool) -> tuple[float, float]:
    """Return the smallest and the largest finite value (positive value, on a log scale); widened if equal."""
    kept = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = (float(kept.min()), float(kept.max())) if len(kept) else (0.1, 1.0)
    if low < high:
        return low, high
    return (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
