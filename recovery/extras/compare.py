"""`recover compare`: results folders, or the values of an axis of one, as a table of differences with intervals.

Trials with the same draws are compared pair by pair. False discoveries among grid cells are controlled.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import scipy

from recovery.config import ReportSpec, is_user_axis
from recovery.errors import ReportError
from recovery.extras.comparison import Comparison
from recovery.interval import LEVEL
from recovery.report.claims.lines import UNKNOWN, Line, form_of
from recovery.report.diagram import PLAIN, Cells, Diagram, coordinates, has, is_number, joint_values
from recovery.report.diagram.quantity import undefined
from recovery.report.statistics import Estimates
from recovery.report.statistics.differences import (
    paired_difference,
    sign_test,
    threshold_difference,
    unpaired_difference,
)
from recovery.report.statistics.samples import median_interval
from recovery.store import Grid, read
from recovery.text import did_you_mean, many
from recovery.types import Array, Index

SECTIONS = ("data", "planted", "patterns", "method")
"""Sections of a config that may differ between sweeps without a coordinate for it, such as `method.program`."""
STORED_AS = {"data.ensemble": "ensemble", "planted.kind": "planted", "method.kind": "method"}
"""Fields of a config -> the coordinate that always stores them."""
VARIES = object()
"""The value of a coordinate that has several in one sweep."""


class Stored(Protocol):
    """Stored results, as `recovery.read` returns them."""

    @property
    def grid(self) -> Grid: ...


def compare(*results: Stored | Grid | str | Path, by: str | None = None, value: str | None = None) -> Comparison:
    """Compare each further results folder with the first, or with `by` the values of an axis within one.

    results: results folders, or what `recovery.read` returned. by: the axis whose values are compared, in place of
    further folders. value: a column or COLUMN<=NUMBER, by default the value of the config.

    Raises `ReportError`, and `StoreError` for a damaged folder.
    """
    read_ones = (read(one) if isinstance(one, str | Path) else one for one in results)
    grids = [one if isinstance(one, Grid) else one.grid for one in read_ones]
    if by is not None and len(grids) > 1:
        found = f"found {len(grids)} results folders, allowed is one"
        raise ReportError(f"--by {by}: {found}; leave out the others, or leave out --by")
    diagrams = [Diagram.of(grid, value) for grid in grids]
    first, *others = diagrams if by is None else sides_of(diagrams[0], by)
    if not others:
        fault = "a comparison needs at least two results folders; add another one, or give --by AXIS"
        raise ReportError(f"{first.grid.path}: {fault}")
    names = [diagram.name for diagram in (first, *others)]
    if len(set(names)) < len(names):
        names = [diagram.grid.path.as_posix() for diagram in (first, *others)]
    title = f"{names[1]} minus {names[0]}" if len(others) == 1 else f"differences from {names[0]}"
    tables, thresholds, notes = list[pd.DataFrame](), list[dict[str, Any]](), [title]
    for name, other in zip(names[1:], others, strict=True):
        sides = {"first": names[0], "second": name}
        table, words = _compared(first, other)
        tables.append(pd.DataFrame({side: [text] * len(table) for side, text in sides.items()}).join(table))
        notes += [words if len(others) == 1 else f"{name}: {words}"]
        notes += [
            f"{field}: {one} in {names[0]}, {two} in {name}"
            for field, (one, two) in _fixed(first, other).items()
            if field != by  # the labels of both sides state the values of `by`
        ]
        thresholds += [sides | row for row in _thresholds(first, other)]
    table = pd.concat(tables, ignore_index=True)
    tested = (table["scope"] == "cell") & table["p"].notna()
    if tested.any():
        table.loc[tested, "q"] = scipy.stats.false_discovery_control(table.loc[tested, "p"], method="by")
    # rows over all cells first, then slices, then grid cells
    order = table["scope"].map({"overall": 0, "slice": 1, "cell": 2})
    table = table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    return Comparison(first.quantity.label, table, pd.DataFrame(thresholds), tuple(notes))


def _compared(first: Diagram, second: Diagram) -> tuple[pd.DataFrame, str]:
    """Return the differences over all cells, per slice and per grid cell of two sweeps, and how trials are compared."""
    keys = _keys(first, second)
    left, right = _values(first, keys), _values(second, keys)
    unpaired = _unpaired(first, second)
    if not unpaired and any(rows.duplicated([*keys, "replicate"]).any() for rows in (left, right)):
        unpaired = ["several trials of a grid cell have the same replicate"]
    if unpaired:
        how = {"value": ("value", "mean" if first.proportion else "median")}
        how |= {"size": ("value", "size"), "sum": ("value", "sum"), "unknown": ("unknown", "sum")}
        left, right = (side.groupby(keys, dropna=False).agg(**how).reset_index() for side in (left, right))
    rows = left.merge(right, on=keys if unpaired else [*keys, "replicate"], suffixes=("_first", "_second"))
    rows["trials"] = rows[["size_first", "size_second"]].min(axis=1) if unpaired else 1
    if not len(rows):
        apart = [name for name in keys if not set(first.frame[name]) & set(second.frame[name])]
        why = f"; no value of {apart[0]} is in both" if apart else ""
        raise ReportError(f"{first.name} and {second.name} have no grid cell in common over {', '.join(keys)}{why}")
    scopes = {"overall": [], "slice": [name for name in keys if name != first.along.x], "cell": keys}
    tables = []
    for scope, names in scopes.items():
        found = summary(rows, names, first.proportion, not unpaired)
        if scope != "slice" or len(found) > 1:
            tables.append(found.assign(scope=scope, paired=not unpaired))
    cells = len(tables[-1])
    unmatched = len(pd.concat([left[keys], right[keys]]).drop_duplicates()) - cells
    how_compared = f"paired: {many(len(rows), 'pair')} of trials with the same draws"
    text = f"{many(cells, 'common cell')}, "
    text += f"not paired, because {' and '.join(unpaired)}" if unpaired else how_compared
    text += f"; {many(unmatched, 'cell')} on one side only" if unmatched else ""
    table = pd.concat(tables, ignore_index=True)
    return table[["scope", *keys, *(name for name in table if name not in ("scope", *keys))]], text


def summary(rows: pd.DataFrame, names: list[str], proportion: bool, paired: bool) -> pd.DataFrame:
    """Return the differences over each group of rows with the same values of `names`; one row over all without names.

    rows: one row per pair of trials, or unpaired per grid cell, with `value_first` and `value_second`. The difference
    of numbers is the median over rows; pairs also have `largest`, in size. Unpaired, values are means over the cells,
    the difference of an event has the weights of Mantel and Haenszel, and numbers have no interval or test.

    An unknown value (NaN) may be any: `unknown` counts pairs with one, or unpaired trials. The interval begins as if
    all unknown values favoured the first side, and ends as if all favoured the second; `p` allows for both. The
    difference of an event is then the mean of both cases, and that of numbers is NaN.
    """
    moved = _moved(rows)
    groups = rows.assign(difference=moved, gained=moved > 0, lost=moved < 0, largest=np.abs(moved))
    groups["unknown"] = np.isnan(moved) if paired else rows["unknown_first"] + rows["unknown_second"]
    value = "mean" if proportion or not paired else "median"
    how = {"value_first": value, "value_second": value, "difference": "median", "trials": "sum"}
    how |= dict.fromkeys(("unknown", "unknown_first", "unknown_second"), "sum")
    how |= {"gained": "sum", "lost": "sum"} if paired else {}
    how |= {"largest": "max"} if paired and not proportion else {}
    grouped = groups.groupby(names or np.zeros(len(rows)), dropna=False)
    found = grouped[list(how)].agg(how).reset_index(drop=not names)
    found = found.assign(low=np.nan, high=np.nan, level=LEVEL, p=np.nan)
    if not proportion:
        found.loc[found["unknown"] > 0, "difference"] = np.nan
    if paired or proportion:
        worst, best = (0.0, 1.0) if proportion else (-np.inf, np.inf)
        test, group = _of_pairs if paired else _of_events, np.asarray(grouped.ngroup(), dtype=np.intp)
        least, most = (test(rows, group, proportion, *ends) for ends in ((best, worst), (worst, best)))
        p = np.where(least.difference * most.difference < 0, 1.0, np.maximum(least.p, most.p))
        found = found.assign(low=least.low, high=most.high, p=p)
        if proportion:
            found["difference"] = (least.difference + most.difference) / 2
    return found if found["unknown"].any() else found.drop(columns=["unknown", "unknown_first", "unknown_second"])


class Tested(NamedTuple):
    """Per group: the share of gains minus the share of losses, the interval of the difference of values, and p."""

    difference: Array
    low: Array
    high: Array
    p: Array


def _of_pairs(rows: pd.DataFrame, group: Index, proportion: bool, first: float, second: float) -> Tested:
    """Test the pairs of each group. first, second: the numbers that replace unknown values of either side."""
    moved = _moved(rows.fillna({"value_first": first, "value_second": second}))
    gained, lost, pairs = (np.bincount(group, weights) for weights in (moved > 0, moved < 0, np.ones(len(rows))))
    p = np.array([sign_test(*counts) for counts in np.array([gained, lost], dtype=int).T.tolist()])
    if proportion:
        return Tested((gained - lost) / pairs, *paired_difference(gained, lost, pairs), p)
    medians = [median_interval(part.to_numpy()) for _, part in pd.Series(moved).groupby(group)]
    low, high = np.array([(one.low, one.high) for one in medians]).T
    return Tested((gained - lost) / pairs, low, high, p)


def _of_events(rows: pd.DataFrame, group: Index, proportion: bool, first: float, second: float) -> Tested:
    """Test the counts of each group, by Fisher's test where each group is one grid cell; as `_of_pairs`."""
    sides = ([f"{name}_first", f"{name}_second"] for name in ("sum", "size", "unknown"))
    yes, total, unknown = (rows[columns].to_numpy(dtype=float).T for columns in sides)
    yes = yes + unknown * np.array([[first], [second]])
    found = Tested(*unpaired_difference(yes, total, group))
    if len(found.p) < len(group):
        return found
    tables = (np.array([a, b - a]).T for a, b in zip(yes.T, total.T, strict=True))
    return found._replace(p=np.array([scipy.stats.fisher_exact(each)[1] for each in tables]))


def _moved(rows: pd.DataFrame) -> Array:
    """Return the second value minus the first; the difference of equal values is 0, also if both are infinite."""
    one, two = rows[["value_first", "value_second"]].to_numpy(dtype=float).T
    return np.subtract(two, one, where=one != two, out=np.zeros(len(one)))


def _thresholds(first: Diagram, second: Diagram) -> Iterator[dict[str, Any]]:
    """Yield the thresholds of an event of both sides, of the same panel or slice, and their difference."""
    if not first.proportion or first.along != second.along:
        return
    mine, others = Estimates(first), Estimates(second)
    for one in mine.all_thresholds:
        # an axis of one side may be a constant coordinate of the other
        match = [
            other
            for other in others.thresholds_where(one.panel.where)
            if any(one is same for same in mine.thresholds_where(other.panel.where))
        ]
        if len(match) != 1 or not len(one.panel.cells) or not len(match[0].panel.cells):
            continue
        here, there = Line.of(one), Line.of(match[0])
        found = threshold_difference(one.interval, match[0].interval)
        if not (one.constant and match[0].constant):
            found = replace(UNKNOWN, level=found.level)
        form = f"+{form_of(one.along)}"
        yield {
            "panel": here.panel,
            "what": here.what,
            "value_first": here.estimate,
            "interval_first": here.interval,
            "value_second": there.estimate,
            "interval_second": there.interval,
            "minus": f"{found.estimate:{form}}, {found.entry(form)}" if found.known else found.entry(form),
            **{"difference": found.estimate, "difference_low": found.low, "difference_high": found.high},
            "level": found.level,
            "where": one.panel.where,
        }


def _keys(first: Diagram, second: Diagram) -> list[str]:
    """Return the coordinates over which grid cells are matched."""
    keys = dict.fromkeys([*first.layout.keys, *second.layout.keys])
    return [name for name in keys if name in first.frame and name in second.frame]


def _unpaired(first: Diagram, second: Diagram) -> list[str]:
    """Return the reasons why a replicate has different draws in two sweeps."""
    one, other = first.sweep.seed, second.sweep.seed
    reasons = [] if one == other else [f"seed differs ({one} and {other})"]
    fixed = _fixed(first, second)
    drawn = [name for name in fixed if name in ("n", "d") or name.startswith("data.") or is_user_axis(name)]
    return reasons + [f"{name} differs ({fixed[name][0]} and {fixed[name][1]})" for name in drawn]


def _fixed(first: Diagram, second: Diagram) -> dict[str, tuple[object, object]]:
    """Return the constant coordinates, and the other fields of the configs, in which two sweeps differ."""
    sides, field_of = [], {stored: path for path, stored in STORED_AS.items()}
    for diagram in (first, second):
        fields = pd.json_normalize(dict(diagram.grid.sweep["config"])).iloc[0].to_dict()
        side: dict[str, Any] = {str(path): one for path, one in fields.items() if path not in STORED_AS}
        side = {path: one for path, one in side.items() if path.partition(".")[0] in SECTIONS}
        for name in coordinates(diagram.frame, diagram.grid.columns):
            values = [None if pd.isna(value) else value for value in diagram.frame[name].unique()]
            side[field_of.get(name, name)] = values[0] if len(values) == 1 else VARIES
        sides.append(side)
    names = [name for name in dict.fromkeys([*sides[0], *sides[1]]) if name not in _keys(first, second)]
    pairs = {name: (sides[0].get(name, "not given"), sides[1].get(name, "not given")) for name in names}
    return {name: (a, b) for name, (a, b) in pairs.items() if not (a is VARIES or b is VARIES or a == b)}


def _values(diagram: Diagram, keys: list[str]) -> pd.DataFrame:
    """Return coordinates, replicate and value of the finished trials that have the quantity; NaN where it is `unknown`.

    Raises `ReportError` if no trial measures it.
    """
    rows = diagram.frame[[*keys, "replicate"]].assign(value=diagram.quantity.values(diagram.frame))
    rows = rows[diagram.cells.finished & ~undefined(diagram.frame, diagram.quantity.column)]
    if len(diagram.frame) and rows["value"].isna().all():
        fault = f"no finished trial measures {diagram.quantity}"
        raise ReportError(f"{diagram.name}: {fault}; choose another quantity with --value")
    return rows.assign(unknown=rows["value"].isna())


def sides_of(diagram: Diagram, by: str) -> list[Diagram]:
    """Return one diagram per value of an axis of the sweep, named after the value. Raises `ReportError`."""
    names = coordinates(diagram.frame, diagram.grid.columns)
    by = STORED_AS.get(by, by)
    by = by if by in names else next((name for name in names if name.split(".")[-1] == by), by)
    varying = [name for name in names if diagram.frame[name].nunique(dropna=False) > 1]
    if by not in varying:
        why = "has one value" if by in names else "is no axis"
        axes = f"allowed: {', '.join(varying)}" if varying else "no axis of it has two values"
        raise ReportError(f"{diagram.grid.path}: {by} {why}; {axes}{did_you_mean(by, varying)}")
    if by in (diagram.layout.x, diagram.layout.y):
        x = next((name for name in diagram.layout.keys[::-1] if name != by and is_number(diagram.frame[name])), by)
        if x == by:
            raise ReportError(f"{diagram.grid.path}: {by} is the only axis; a comparison needs another one as x")
        diagram = diagram.laid_out(ReportSpec(x=x, panel=by))
    values = [value for (value,) in joint_values(diagram.frame, diagram.sweep, (by,))]
    frames = {value: diagram.frame[has(diagram.frame, by, value)].reset_index(drop=True) for value in values}
    frames = {value: frame for value, frame in frames.items() if len(frame)}
    # coordinates that the axis `by` determines have one value within each side, so they give no panels
    panels = tuple(name for name in diagram.layout.panels if any(of[name].nunique() > 1 for of in frames.values()))
    layout = replace(diagram.layout, panels=panels)
    sides = []
    for value, frame in frames.items():
        cells = Cells.of(frame, layout.keys, diagram.sweep.replicates)
        sweep = replace(diagram.sweep, name=value if isinstance(value, str) else PLAIN.pair(by, value))
        sides.append(replace(diagram, sweep=sweep, frame=frame, layout=layout, cells=cells))
    return sides
